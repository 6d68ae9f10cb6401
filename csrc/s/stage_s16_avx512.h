/* The output stage of s16 on 16 lanes: every channel requantizes by its own pair, sums of 64 bits that
 * fit 32 by 16 bits of the multiplier, as qn_requantize64(), narrow ones by all 31. */
#ifndef QN_S_STAGE_S16_AVX512_H
#define QN_S_STAGE_S16_AVX512_H

#include "../gemm/unroll.h"
#include "requantize_avx512.h"

typedef int16_t element;

typedef struct stage {
    const int32_t *rows; /* of the first vector of channels */
    __m512i most, least; /* halfwords */
    int narrow, single;
} stage;

static inline stage stage_of(const s_stage *last, int narrow, const int32_t *rows) {
    stage s = {rows, _mm512_set1_epi16((int16_t)last->act_max),
               _mm512_set1_epi16((int16_t)last->act_min), narrow,
               qn_rounding(last->profile) == QN_SINGLE};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    stage s = *all;
    s.rows += v * STAGE_ROWS * 16;
    return s;
}
#define STAGE_FROM(last, v) stage_from(last, v)

/* qn_requantize64(): |acc * multiplier| < 2^46, shifted right by 7 to 45, then halves up. */
static inline __m512i requantized_wide(const int32_t *rows, __m512i acc) {
    __m512i right = row_of(rows, RIGHT), low = _mm512_set1_epi64(UINT32_MAX);
    __m512i even = _mm512_srav_epi64(even_products(rows, acc), _mm512_and_si512(right, low));
    __m512i odd = _mm512_srav_epi64(odd_products(rows, acc), _mm512_srli_epi64(right, 32));
    __m512i t = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
    return _mm512_srai_epi32(_mm512_add_epi32(t, _mm512_set1_epi32(1)), 1);
}

/* Out of line: a bias of 32 bits is rare. */
static __attribute__((noinline)) void shift_narrow(const stage *s, int pixels, int vectors,
                                                   __m512i acc[16][4]) {
    for (int v = 0; v < vectors; v++) {
        const int32_t *rows = s->rows + v * STAGE_ROWS * 16;
        for (int p = 0; p < pixels; p++) {
            acc[p][v] = s->single ? requantized_single(rows, acc[p][v])
                                  : requantized_double(rows, acc[p][v]);
        }
    }
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m512i acc[16][4]) {
    if (s->narrow) {
        __m512i held[16][4]; /* so that acc need not have an address */
        QN_EACH(pixels, vectors, held[p][v] = acc[p][v]);
        shift_narrow(s, pixels, vectors, held);
        QN_EACH(pixels, vectors, acc[p][v] = held[p][v]);
        return;
    }
    QN_EACH(pixels, vectors,
            acc[p][v] = requantized_wide(s->rows + v * STAGE_ROWS * 16, acc[p][v]));
}

static inline __m512i bounded(const stage *s, __m512i values) {
    return _mm512_max_epi16(_mm512_min_epi16(values, s->most), s->least);
}

#include "../gemm/halfwords_avx512.h"

#endif
