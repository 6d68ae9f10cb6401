/* Stages of a transform of a power of 2, as fast rows take them. */
#ifndef QN_S_FFT_FAST_H
#define QN_S_FFT_FAST_H

#include <string.h>

#include "fft.h"

/* The radix of the first stage, that of the innermost transforms: all others are 4. */
static inline int32_t s_fft_first(int32_t n) {
    return (31 - qn_leading_zeros((uint32_t)n)) % 2 ? 2 : 4;
}

/* Elements of the packed twiddles of all stages. */
static inline int32_t s_fft_twiddles(int32_t n) {
    int32_t all = 0;
    for (int32_t m = 1; m < n;) {
        const int32_t r = m == 1 ? s_fft_first(n) : 4;
        all += 2 * (r - 1) * (n / r);
        m *= r;
    }
    return all;
}

/* Scratch bytes and packed twiddles of the rows. */
int64_t s_fft_scratch(const void *params);
int64_t s_fft_packed(const void *params);
void s_fft_pack(const void *params, const void *weights, const void *bias, void *packed);

#endif
