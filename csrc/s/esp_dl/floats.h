/* Parts of ESP-DL that compute in float32: curves, quotients, means, resizing, softmax.
 *
 * Each operation of floats is rounded once, to nearest: float32, and float64 where the vendor's C
 * has a constant of that type. Functions of one number (exp, log, sqrt) are rounded once, too; the
 * libraries of the chips may be one place off. The last step of results in integers:
 *
 *   out = saturate(R(v)),  R(v) = floor(float32(v + 1/2))   portable C and ESP32-S3
 *                          R(v) = v rounded to nearest, halves to even   ESP32-P4
 *
 * A v outside of 32 bits counts as the end on its side, one that is no number as 2^31 - 1, as the
 * chips convert floats. (x86 has -2^31 for all of these.)
 *
 *   curve(x), x = in * 2^input_exponent, v = the result * 2^-output_exponent
 *     sigmoid       float32(1 / (1 + e^-x)), sum and quotient in float64
 *     tanh          2 * sigmoid(2 * x) - 1
 *     swish         sigmoid(x) * x
 *     hard_swish    float32(max(0, min(1, 0.166667 * x + 0.5)) * x), in float64
 *     hard_sigmoid  max(0, min(1, alpha * x + beta))
 *     elu           x >= 0: x; else alpha * (e^x - 1)
 *     leaky_relu    x >= 0: x; else x * alpha
 *     exp, log, sqrt
 *   div           v = (a * 2^-right_shift) / b; where b is one number for a row (scalar 2),
 *                 a * (2^-right_shift / b). a = 0 gives 0; b = 0 gives the end of the type on a's
 *                 side; 0 / 0 of 8 bits with a single a (scalar 1) -128
 *   average_pool  v = sum * (float32(1 / (filter_h * filter_w)) * 2^-right_shift): elements outside
 *                 of the image count as 0
 *   reduce_mean   v = sum / count * 2^-right_shift
 *   reduce_sum    R(sum / 2^right_shift) of integers, exact; reduce_max, reduce_min: no rounding;
 *                 reduce_l1, reduce_sum_square: the same of |x| and of x * x, of 8 bits in 32 bits
 *   reduce_prod   v = the product of x * 2^input_exponent, of 16 bits in float64
 *   reduce_l2     v = newton(sum of x * x * 2^(2 * input_exponent)), an exact sum
 *   reduce_log_sum, reduce_log_sum_exp  v = log(sum of x), of an exact sum; log(sum of e^x), in
 *                 order, no maximum subtracted
 *   pow, mod      v = a^b; fmod(a, b), 0 where b is 0
 *   layer_norm    mean = float32(sum / size), in float64; m = the sum of (x - mean)^2 of integers, in
 *                 order; v = (x - mean) * (1 / newton(m / size + epsilon)) * scale + bias, in steps
 *   rms_norm      v = (x * (1 / sqrt(m / size + epsilon))) * scale; m: the exact sum of squares
 *   lp_norm       v = x * (1 / sqrt(sum of squares)), or x * (1 / sum of magnitudes); 0 where the
 *                 sum is 0
 *   softmax       8 bits: e^x / (sum of e^x), no maximum subtracted, sums in order; 16 bits: the
 *                 same with x - max. float32 results
 *   log_softmax   8 bits: x - log(sum of e^x); 16 bits: (x - max) - log(sum of e^(x - max))
 *   resize        nearest: pixel (floor(y * inverse_h), floor(x * inverse_w)), at most the last,
 *                 R(pixel / 2^(output_exponent - input_exponent)); what leaves 8 bits wraps in
 *                 portable C, and saturates on an ESP32-S3 and ESP32-P4;
 *                 linear: pixels from fx = (x + 0.5) * inverse_w - 0.5, or x * inverse_w with
 *                 align_corners: that of floor(fx), with 1 - fraction, and the next, with fraction;
 *                 along x first
 *   quantize      v = x * 2^right_shift;  dequantize  in * 2^-right_shift
 *
 * newton(x): Newton's iteration for the square root, down to steps of 10^-5.
 * Axes: pools and resizing [n][y][x][c]; reduce as ../reduce/reduce.h; softmax and lp_norm [outer]
 * [size][inner]; layer_norm and rms_norm: [outer][size], scale and bias [size], of rms_norm in
 * float32.
 * Refused: resize_nearest on an ESP32-S3 of fewer than 16 channels, unless both sides double: the
 * kernel multiplies by a vector register that it loads for 16 channels and more alone.
 * Example: leaky_relu with alpha 0.1 and equal exponents makes -5 to -0 on all chips, as float32
 * rounds -0.5000000075 to -0.5: R is 0. */
#ifndef QN_S_ESP_DL_FLOATS_H
#define QN_S_ESP_DL_FLOATS_H

#include "../../common/real.h"
#include "rounding.h"

/* Products, quotients and sums of float32, rounded once. */
static inline float s_dl_mul(float a, float b) { return (float)((double)a * b); }
static inline float s_dl_div(float a, float b) { return (float)((double)a / b); }
static inline float s_dl_sum(float a, float b) { return (float)((double)a + b); }

/* 2^n as a float32, -126 <= n <= 127. */
static inline float s_dl_power(int n) { return (float)qn_power_of_two(n); }

/* The square root by Newton's iteration from x on, to steps of at most float32(10^-5). Iterations
 * that alternate between two float32 end after 200 steps; on the chips they never end. */
static inline float s_dl_newton_root(float x) {
    float root = x;
    if (x == 0) {
        return 0;
    }
    for (int step = 0; step < 200; step++) {
        const float last = root;
        root = (float)(0.5 * s_dl_sum(last, s_dl_div(x, last)));
        const float change = s_dl_sum(root, -last);
        if (!((change < 0 ? -change : change) > 0.00001f)) {
            break;
        }
    }
    return root;
}

static inline int64_t s_dl_to_integer(double whole) {
    if (!(whole < INT32_MAX)) {
        return INT32_MAX;
    }
    return whole > INT32_MIN ? (int64_t)whole : INT32_MIN;
}

static inline int64_t s_dl_round(float v, int32_t chip) {
    const double floor_v = qn_floor_f64(v), rest = v - floor_v;
    if (chip == QN_DL_P4) {
        const int64_t below = s_dl_to_integer(floor_v);
        return below + (rest > 0.5 || (rest == 0.5 && (below & 1)));
    }
    return s_dl_to_integer(qn_floor_f64((float)(v + 0.5)));
}

/* The cells of a window along an axis that are in the image. */
typedef struct s_dl_span {
    int64_t start, stop;
} s_dl_span;

static inline s_dl_span s_dl_inside(int32_t place, int32_t stride, int32_t pad, int32_t filter,
                                    int32_t input) {
    const int64_t first = (int64_t)place * stride - pad, last = first + filter;
    return (s_dl_span){first > 0 ? first : 0, last < input ? last : input};
}

/* The factor of the sum of a window of average_pool. */
static inline float s_dl_average_scale(const qn_dl_pool *p) {
    const float inverse = s_dl_div(1, (float)(p->filter_h * p->filter_w));
    return s_dl_mul(inverse, s_dl_power(-p->right_shift));
}

#endif
