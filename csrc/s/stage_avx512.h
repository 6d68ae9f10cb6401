/* The output stage of s8 on 16 lanes: every channel requantizes by its own pair. */
#ifndef QN_S_STAGE_AVX512_H
#define QN_S_STAGE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "stage_rows.h"

typedef int8_t element;

typedef struct stage {
    const int32_t *rows; /* of the first vector of channels, as stage_rows.h has them */
    __m512i offset, most, least;
    stage_kind kind;
} stage;

static inline stage stage_of(const s_stage *last, stage_kind kind, const int32_t *rows) {
    stage s = {rows, _mm512_set1_epi32(last->output_offset), _mm512_set1_epi32(last->act_max),
               _mm512_set1_epi8((int8_t)last->act_min), kind};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    stage s = *all;
    s.rows += v * STAGE_ROWS * 16;
    return s;
}
#define STAGE_FROM(last, v) stage_from(last, v)

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

static inline __m512i requantized_quick(const int32_t *rows, __m512i acc) {
    __m512i a = _mm512_add_epi32(acc, acc);
    __m512i even = _mm512_add_epi64(even_products(rows, a), row_of(rows, ADD_EVEN));
    __m512i odd = _mm512_add_epi64(odd_products(rows, a), row_of(rows, ADD_ODD));
    __m512i t = upper(even, odd);
    __mmask16 negative = _mm512_cmplt_epi32_mask(t, row_of(rows, NUDGE));
    t = _mm512_mask_add_epi32(t, negative, t, _mm512_set1_epi32(-1));
    return _mm512_srav_epi32(t, row_of(rows, RIGHT));
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

/* qn_requantize_single(). */
static inline __m512i requantized_single(const int32_t *rows, __m512i acc) {
    __m512i right = row_of(rows, RIGHT), low = _mm512_set1_epi64(UINT32_MAX);
    __m512i even = _mm512_add_epi64(even_products(rows, acc), row_of(rows, ADD_EVEN));
    __m512i odd = _mm512_add_epi64(odd_products(rows, acc), row_of(rows, ADD_ODD));
    even = _mm512_srav_epi64(even, _mm512_and_si512(right, low));
    odd = _mm512_srav_epi64(odd, _mm512_srli_epi64(right, 32));
    return _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
}

/* Saturated from below by 8 bits later, and from above by act_max, which most often is 127. */
static inline __m512i shifted(const stage *s, int v, __m512i acc) {
    const int32_t *rows = s->rows + v * STAGE_ROWS * 16;
    __m512i out;
    if (s->kind == STAGE_QUICK) {
        out = requantized_quick(rows, acc);
    } else {
        out =
            s->kind == STAGE_SINGLE ? requantized_single(rows, acc) : requantized_double(rows, acc);
        out = _mm512_add_epi32(out, s->offset);
    }
    return _mm512_min_epi32(out, s->most);
}

#include "../gemm/bytes_avx512.h"

#endif
