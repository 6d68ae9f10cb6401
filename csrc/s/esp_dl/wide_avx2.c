/* Layers of ESP-DL of 16 bits on AVX2. */
#include "weighted.h"

#include "../../common/profiles.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

/* The sum of two products is at least 2 * -32768 * 32767 and at most 2^31, which VPMADDWD gives as
 * -2^31. One less fits 32 bits. */
static int64_t sum_products(const int16_t *x, const int16_t *w, int64_t count) {
    __m256i sums = _mm256_setzero_si256();
    const __m256i one = _mm256_set1_epi32(1);
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(w + i));
        const __m256i less = _mm256_sub_epi32(_mm256_madd_epi16(a, b), one);
        const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(less));
        const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(less, 1));
        sums = _mm256_add_epi64(sums, _mm256_add_epi64(low, high));
    }
    int64_t lanes[4], sum = i / 2; /* one for each pair */
    _mm256_storeu_si256((__m256i *)(void *)lanes, sums);
    sum += lanes[0] + lanes[1] + lanes[2] + lanes[3];
    for (; i < count; i++) {
        sum += x[i] * w[i];
    }
    return sum;
}

#include "wide.inc"

int s_dl_convolve_s16_avx2(const void *params, const qn_buffers *b) { return convolve(params, b); }

int s_dl_dense_s16_avx2(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->weights);
}

int s_dl_matmul_s16_avx2(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->in[1]);
}

#include "../../gemm/target_end.inc"

#endif
