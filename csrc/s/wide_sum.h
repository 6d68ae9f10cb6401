/* Sums of 16-bit values times 8-bit weights in 64 bits, but for their beginning: cores with the DSP
 * extension and Helium have the first 512 products in 32 bits, modulo 2^32. */
#ifndef QN_S_WIDE_SUM_H
#define QN_S_WIDE_SUM_H

#include "affine.h"

static inline int64_t s_wide_products(const int16_t *x, const int8_t *weights, int32_t count) {
    int64_t sum = 0; /* at most 65535 * 2^22 */
    for (int32_t i = 0; i < count; i++) {
        sum += x[i] * weights[i];
    }
    return sum;
}

/* bias_in_head: Helium's LSTM starts the 32-bit sum with the bias, where others add it to all. */
static inline int64_t s_wide_sum(int32_t profile, const int16_t *x, const int8_t *weights,
                                 int32_t count, int64_t bias, int bias_in_head) {
    const int path = qn_path(profile), early = bias_in_head && path == QN_PATH_MVE;
    const int32_t split = count < 512 ? count : 512;
    uint64_t head = (uint64_t)s_wide_products(x, weights, split) + (early ? (uint64_t)bias : 0);
    if (path == QN_PATH_DSP || path == QN_PATH_MVE) {
        head = (uint64_t)(int64_t)qn_wrap32((uint32_t)head);
    }
    uint64_t tail = (uint64_t)s_wide_products(x + split, weights + split, count - split);
    return (int64_t)(head + tail + (early ? 0 : (uint64_t)bias));
}

#endif
