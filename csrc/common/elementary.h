/* Functions of floats in 32-bit fixed point, as CMSIS-NN and TensorFlow Lite Micro (gemmlowp)
 * compute them: made of the products and divisions of fixed.h alone, so that every bit is settled.
 * Qi.f is a raw integer that stands for raw / 2^f, with i bits before the point.
 *
 * Where TensorFlow Lite Micro computes in float32, so does this, operation by operation: a product
 * or a sum in double is the exact one (or as good: a double has more than twice the bits), and the
 * cast to float rounds it once. No compiler may fuse across that cast. */
#ifndef QN_ELEMENTARY_H
#define QN_ELEMENTARY_H

#include <string.h>

#include "fixed.h"

/* e^(x - 1/8) in Q0.31 for |x| <= 1/8 in Q0.31, by four terms:
 *   C + HM(C, x + RDP(HM(RDP(x^4, 2) + x^3, 1/3) + x^2, 1)),  C = e^(-1/8), powers by HM
 * With |x| <= 2^28 nothing leaves 32 bits. */
static inline int32_t qn_exp_near_eighth(int32_t x) {
    const int32_t c = 1895147668, third = 715827883;
    int32_t x2 = qn_hm(x, x), x3 = qn_hm(x2, x), x4 = qn_hm(x2, x2);
    int32_t tail = qn_hm(qn_rdp(x4, 2) + x3, third) + x2;
    return c + qn_hm(c, x + qn_rdp(tail, 1));
}

/* e^t in Q0.31 for t <= 0 in Q[bits].[31 - bits], 1 <= bits <= 5. With t = q - n/4, -1/4 <= q < 0:
 * e^q, times e^-(2^k / 4) for every set bit k of n, from the lowest on. e^0 is 2^31 - 1. */
static inline int32_t qn_exp_negative(int32_t t, int bits) {
    static const int32_t powers[] = {
        /* e^-1/4, e^-1/2, e^-1, ... e^-16 */
        1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << (29 - bits);
    if (t == 0) {
        return INT32_MAX;
    }
    int32_t q = (t & (quarter - 1)) - quarter, rest = q - t;
    int32_t result = qn_exp_near_eighth(q * (1 << bits) + (1 << 28));
    for (int k = 0; k < bits + 2; k++) {
        result = qn_asr(rest, 29 - bits + k) & 1 ? qn_hm(result, powers[k]) : result;
    }
    return result;
}

/* One Newton step towards 1/d in Q2.29, d in Q0.31: x + x * (1 - d * x), x in Q2.29. */
static inline int32_t qn_reciprocal_step(int32_t x, int32_t d) {
    return qn_add32(x, qn_shl_sat(qn_hm(x, (1 << 29) - qn_hm(d, x)), 2));
}

/* 2/(1 + v) in Q2.29 for 0 <= v < 1 in Q0.31: three steps from 48/17 - 32/17 * (1 + v)/2. */
static inline int32_t qn_twice_reciprocal(int32_t v) {
    int32_t d = qn_wrap32(qn_lsr((uint32_t)v + (1u << 31), 1));
    int32_t x = 1515870810 + qn_hm(d, -1010580540);
    return qn_reciprocal_step(qn_reciprocal_step(qn_reciprocal_step(x, d), d), d);
}

/* 1/(1 + v) in Q0.31 for 0 <= v < 1 in Q0.31, saturated. */
static inline int32_t qn_reciprocal(int32_t v) { return qn_shl_sat(qn_twice_reciprocal(v), 1); }

/* 1/(1 + e^-x) in Q0.31 for x in Q4.27, x > -2^31: of |x|, and 1 - that where x < 0. 1/2 for 0. */
static inline int32_t qn_logistic_q4(int32_t x) {
    int32_t of_size = qn_reciprocal(qn_exp_negative(x > 0 ? -x : x, 4));
    return x == 0 ? 1 << 30 : x > 0 ? of_size : INT32_MAX - of_size;
}

/* tanh(x) in Q0.31 for x in Q4.27, x > -2^31: (1 - v)/(1 + v) with v = e^(-2|x|), negated where
 * x < 0. 0 for 0. */
static inline int32_t qn_tanh_q4(int32_t x) {
    int32_t v = qn_exp_negative(x > 0 ? -x : x, 5);
    int32_t of_size = qn_shl_sat(qn_sub32(qn_twice_reciprocal(v), 1 << 29), 2);
    return x == 0 ? 0 : x > 0 ? of_size : -of_size;
}

/* A float32 by its bits. */
static inline double qn_float32(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* x * factor + start to the nearest integer, halves away from zero, at most 2^30 in size; factor
 * and start are the bits of float32, in which the product and the sum are rounded. */
static inline int32_t qn_rescale_float32(int32_t x, int32_t factor, int32_t start) {
    float product = (float)(x * qn_float32(factor));
    float sum = (float)((double)product + qn_float32(start));
    double size = (double)(sum < 0 ? -sum : sum) + 0.5;
    int32_t rounded = size < 1073741824.0 ? (int32_t)size : 1 << 30; /* of NaN, too */
    return sum < 0 ? -rounded : rounded;
}

/* The position, of `in` ones, that position x of `out` ones shows when an image is resized to its
 * nearest neighbours; all of them below 2^16. scale = in / out in float32; with align_corners
 * (in - 1) / (out - 1) where out > 1, and the nearest instead of the position below. */
static inline int32_t qn_nearest_neighbor(int32_t x, int32_t in, int32_t out, int align_corners,
                                          int half_pixel_centers) {
    int inner = align_corners && out > 1;
    float scale = (float)((double)(in - inner) / (out - inner));
    float position = (float)((x + (half_pixel_centers ? 0.5 : 0.0)) * (double)scale);
    int32_t found = (int32_t)((double)position + (align_corners ? 0.5 : 0.0));
    return found < in - 1 ? found : in - 1;
}

#endif
