/* The exact requantizations of sums on 16 lanes, each by its own pair, from the rows of stage_rows.h. */
#ifndef QN_S_REQUANTIZE_AVX512_H
#define QN_S_REQUANTIZE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "stage_rows.h"

static inline __m512i row_of(const int32_t *rows, int row) {
    return _mm512_loadu_si512(rows + row * 16);
}

/* The products of even lanes, and of odd ones. */
static inline __m512i even_products(const int32_t *rows, __m512i a) {
    return _mm512_mul_epi32(a, row_of(rows, MULTIPLIER));
}
static inline __m512i odd_products(const int32_t *rows, __m512i a) {
    return _mm512_mul_epi32(_mm512_shuffle_epi32(a, _MM_PERM_DDBB), row_of(rows, MULT_ODD));
}

/* The upper halves of 64 bits, each in its own lane. */
static inline __m512i upper(__m512i even, __m512i odd) {
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}

/* qn_hm(), then qn_rdp() of magnitudes: halves go away from zero, and no magnitude passes 2^31. */
static inline __m512i requantized_double(const int32_t *rows, __m512i acc) {
    const __m512i half = _mm512_set1_epi64(1 << 30);
    __m512i a = _mm512_sllv_epi32(acc, row_of(rows, LEFT));
    __m512i even = _mm512_slli_epi64(_mm512_add_epi64(even_products(rows, a), half), 1);
    __m512i odd = _mm512_slli_epi64(_mm512_add_epi64(odd_products(rows, a), half), 1);
    __m512i high = upper(even, odd);
    __mmask16 negative = _mm512_cmplt_epi32_mask(high, _mm512_setzero_si512());
    __m512i nudged = _mm512_add_epi32(_mm512_abs_epi32(high), row_of(rows, NUDGE));
    __m512i rounded = _mm512_srlv_epi32(nudged, row_of(rows, RIGHT));
    return _mm512_mask_sub_epi32(rounded, negative, _mm512_setzero_si512(), rounded);
}

/* qn_requantize_single(), or that of 7.0.0. */
static inline __m512i requantized_single(const int32_t *rows, __m512i acc) {
    __m512i right = row_of(rows, RIGHT), low = _mm512_set1_epi64(UINT32_MAX);
    __m512i even = _mm512_add_epi64(even_products(rows, acc), row_of(rows, ADD_EVEN));
    __m512i odd = _mm512_add_epi64(odd_products(rows, acc), row_of(rows, ADD_ODD));
    even = _mm512_srav_epi64(even, _mm512_and_si512(right, low));
    odd = _mm512_srav_epi64(odd, _mm512_srli_epi64(right, 32));
    __m512i once = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
    __m512i left = row_of(rows, LEFT);
    return _mm512_srav_epi32(_mm512_sllv_epi32(once, left), left);
}

#endif
