/* The exact requantizations of sums on 8 lanes, each by its own pair, from the rows of stage_rows.h. */
#ifndef QN_S_REQUANTIZE_AVX2_H
#define QN_S_REQUANTIZE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "stage_rows.h"

static inline __m256i row_of(const int32_t *rows, int row) {
    return _mm256_loadu_si256((const __m256i *)(rows + row * 8));
}

/* The products of even lanes, and of odd ones. */
static inline __m256i even_products(const int32_t *rows, __m256i a) {
    return _mm256_mul_epi32(a, row_of(rows, MULTIPLIER));
}
static inline __m256i odd_products(const int32_t *rows, __m256i a) {
    return _mm256_mul_epi32(_mm256_shuffle_epi32(a, 0xf5), row_of(rows, MULT_ODD));
}

/* The upper halves of 64 bits, each in its own lane. */
static inline __m256i upper(__m256i even, __m256i odd) {
    return _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa);
}

/* qn_hm(), then qn_rdp() of magnitudes: halves go away from zero, and no magnitude passes 2^31. */
static inline __m256i requantized_double(const int32_t *rows, __m256i acc) {
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    __m256i a = _mm256_sllv_epi32(acc, row_of(rows, LEFT));
    __m256i even = _mm256_slli_epi64(_mm256_add_epi64(even_products(rows, a), half), 1);
    __m256i odd = _mm256_slli_epi64(_mm256_add_epi64(odd_products(rows, a), half), 1);
    __m256i high = upper(even, odd);
    __m256i nudged = _mm256_add_epi32(_mm256_abs_epi32(high), row_of(rows, NUDGE));
    return _mm256_sign_epi32(_mm256_srlv_epi32(nudged, row_of(rows, RIGHT)), high);
}

/* floor(x / 2^shift) of 64 bits, which AVX2 only has of unsigned x. */
static inline __m256i shifted_64(__m256i x, __m256i shift) {
    __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    __m256i moved = _mm256_srlv_epi64(_mm256_xor_si256(x, sign), shift);
    return _mm256_sub_epi64(moved, _mm256_srlv_epi64(sign, shift));
}

/* qn_requantize_single(), or that of 7.0.0. */
static inline __m256i requantized_single(const int32_t *rows, __m256i acc) {
    __m256i right = row_of(rows, RIGHT), low = _mm256_set1_epi64x(UINT32_MAX);
    __m256i even = _mm256_add_epi64(even_products(rows, acc), row_of(rows, ADD_EVEN));
    __m256i odd = _mm256_add_epi64(odd_products(rows, acc), row_of(rows, ADD_ODD));
    even = shifted_64(even, _mm256_and_si256(right, low));
    odd = shifted_64(odd, _mm256_srli_epi64(right, 32));
    __m256i once = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    __m256i left = row_of(rows, LEFT);
    return _mm256_srav_epi32(_mm256_sllv_epi32(once, left), left);
}

/* qn_requantize64(), of rows with 16 bits of the multiplier and a RIGHT of 14 - shift: |acc * multiplier| < 2^46, shifted right by 7 to 45, then halves up. */
static inline __m256i requantized_wide(const int32_t *rows, __m256i acc) {
    __m256i right = row_of(rows, RIGHT), low = _mm256_set1_epi64x(UINT32_MAX);
    __m256i even = shifted_64(even_products(rows, acc), _mm256_and_si256(right, low));
    __m256i odd = shifted_64(odd_products(rows, acc), _mm256_srli_epi64(right, 32));
    __m256i t = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return _mm256_srai_epi32(_mm256_add_epi32(t, _mm256_set1_epi32(1)), 1);
}

#endif
