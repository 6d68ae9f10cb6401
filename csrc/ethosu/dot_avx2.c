/* Products of 16 bits on AVX2. Sums modulo 2^32 have the same bits in any order, and VPMADDWD wraps
 * for two products of -32768 only, as the sum does. */
#include "run.h"

#include "../common/profiles.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

uint32_t eu_dot_avx2(const int16_t *x, const int16_t *w, int64_t count) {
    __m256i sums = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(w + i));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
    }
    uint32_t lanes[8], sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)lanes, sums);
    for (int lane = 0; lane < 8; lane++) {
        sum += lanes[lane];
    }
    for (; i < count; i++) {
        sum += (uint32_t)(x[i] * w[i]);
    }
    return sum;
}

#include "../gemm/target_end.inc"

#endif
