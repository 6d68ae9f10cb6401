/* Common parts of elementwise operators of TensorFlow Lite Micro that CMSIS-NN has no function of.
 * */
#ifndef QN_S_TFLM_H
#define QN_S_TFLM_H

#include "../affine.h"
#include "kernels.h"

/* R of their contracts: x * multiplier * 2^(shift - 31) as their own code rounds it, -31 <= shift
 * <= 30. That is requantize() of fixed.h, but single rounding has 64 bits in every release. */
static inline int32_t s_tflm_requantize(int32_t profile, int32_t x, int32_t multiplier,
                                        int32_t shift) {
    return qn_rounding(profile) == QN_DOUBLE ? qn_requantize_double(x, multiplier, shift)
                                             : qn_requantize_single(x, multiplier, shift);
}

/* 1 / sqrt(x) of an integer x >= 0 as multiplier * 2^(shift - 31), -12 <= shift <= 0. Of 0 and 1 it
 * is (2^31 - 1, 0). Others are x = f * 4^e with 2^27 <= f < 2^29, rounded down where e > 0, and
 * have shift = -(11 + e); where that is above 0, the multiplier takes it. With h = f/4 in Q3.28,
 * halves away from zero, y begins at 1 and becomes, five times,
 *   y = 3/2 y - h y^3        in Q3.28, from products in Q6.25 (y^3: Q9.22), saturated
 * and the multiplier is y * sqrt(1/2). */
typedef struct s_root {
    int32_t multiplier, shift;
} s_root;

static inline int32_t s_cubed(int32_t y) { return qn_shl_sat(qn_hm_sat(qn_hm_sat(y, y), y), 6); }

static inline s_root s_inverse_root(int32_t x) {
    if (x <= 1) {
        return (s_root){INT32_MAX, 0};
    }
    int shift = 11;
    for (; x >= 1 << 29; x = x / 4) {
        shift++;
    }
    const int pairs = (qn_leading_zeros((uint32_t)x) - 1) / 2 - 1;
    shift -= pairs;
    const int32_t half = qn_rdp(qn_asr(qn_wrap32(qn_shl(x, 2 * pairs)), 1), 1);
    int32_t y = 1 << 28;
    for (int i = 0; i < 5; i++) {
        int32_t step = qn_sub32(qn_hm_sat(3 << 27, y), qn_hm_sat(half, s_cubed(y)));
        y = qn_shl_sat(step, 3);
    }
    const int32_t root = qn_hm_sat(y, 1518500250);
    return shift < 0 ? (s_root){qn_wrap32(qn_shl(root, -shift)), 0} : (s_root){root, -shift};
}

#endif
