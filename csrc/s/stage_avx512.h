/* The output stage of s8 on 16 lanes: every channel requantizes by its own pair. */
#ifndef QN_S_STAGE_AVX512_H
#define QN_S_STAGE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"
#include "requantize_avx512.h"

typedef int8_t element;

/* The output's offset is added to halfwords after floats, to dwords after exact sums, modulo 2^32,
 * and lies in the rows of quick ones. */
typedef struct stage {
    const int32_t *rows;         /* of the first vector of channels, as stage_rows.h has them */
    __m512i offset, most, least; /* halfwords, bytes */
    stage_kind kind;
    int single;
    int32_t exact_offset;
} stage;

static inline stage stage_of(const s_stage *last, stage_kind kind, const int32_t *rows) {
    const int16_t halfword = (int16_t)(kind == STAGE_FLOAT ? last->output_offset : 0);
    stage s = {rows,
               _mm512_set1_epi16(halfword),
               _mm512_set1_epi8((int8_t)last->act_max),
               _mm512_set1_epi8((int8_t)last->act_min),
               kind,
               qn_rounding(last->profile) == QN_SINGLE,
               last->output_offset};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    stage s = *all;
    s.rows += v * STAGE_ROWS * 16;
    return s;
}
#define STAGE_FROM(last, v) stage_from(last, v)

static inline __m512i requantized_quick(const int32_t *rows, __m512i acc) {
    __m512i a = _mm512_add_epi32(acc, acc);
    __m512i even = _mm512_add_epi64(even_products(rows, a), row_of(rows, ADD_EVEN));
    __m512i odd = _mm512_add_epi64(odd_products(rows, a), row_of(rows, ADD_ODD));
    __m512i t = upper(even, odd);
    __mmask16 negative = _mm512_cmplt_epi32_mask(t, row_of(rows, NUDGE));
    t = _mm512_mask_add_epi32(t, negative, t, _mm512_set1_epi32(-1));
    return _mm512_srav_epi32(t, row_of(rows, RIGHT));
}

static inline __m512 floats_of(const int32_t *rows, int row) {
    return _mm512_castsi512_ps(row_of(rows, row));
}

/* See stage_float.h. */
static inline __m512i requantized_float(const int32_t *rows, __m512i acc) {
    enum { CUT = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC, SIGN_OR = 0xec };
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    __m512 x = _mm512_cvt_roundepi32_ps(acc, CUT);
    __m512i half = _mm512_ternarylogic_epi32(acc, row_of(rows, HALF), sign, SIGN_OR);
    __m512 t = _mm512_fmadd_round_ps(x, floats_of(rows, REST), _mm512_castsi512_ps(half), CUT);
    return _mm512_cvttps_epi32(_mm512_fmadd_round_ps(x, floats_of(rows, SCALE), t, CUT));
}

/* What no float can do, out of line: rows are laid out at plan time such that this is rare. */
static __attribute__((noinline)) void shift_slowly(const stage *s, int pixels, int vectors,
                                                   __m512i acc[16][4]) {
    const __m512i offset = _mm512_set1_epi32(s->exact_offset);
    for (int v = 0; v < vectors; v++) {
        const int32_t *rows = s->rows + v * STAGE_ROWS * 16;
        for (int p = 0; p < pixels; p++) {
            if (s->kind == STAGE_QUICK) {
                acc[p][v] = requantized_quick(rows, acc[p][v]);
            } else {
                acc[p][v] = s->single ? requantized_single(rows, acc[p][v])
                                      : requantized_double(rows, acc[p][v]);
                acc[p][v] = _mm512_add_epi32(acc[p][v], offset);
            }
        }
    }
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m512i acc[16][4]) {
    if (s->kind != STAGE_FLOAT) {
        __m512i held[16][4]; /* so that acc need not have an address */
        QN_EACH(pixels, vectors, held[p][v] = acc[p][v]);
        shift_slowly(s, pixels, vectors, held);
        QN_EACH(pixels, vectors, acc[p][v] = held[p][v]);
        return;
    }
    QN_EACH(pixels, vectors,
            acc[p][v] = requantized_float(s->rows + v * STAGE_ROWS * 16, acc[p][v]));
}

static inline __m512i bytes_of(const stage *s, __m512i low, __m512i high) {
    __m512i bytes =
        _mm512_packs_epi16(_mm512_adds_epi16(low, s->offset), _mm512_adds_epi16(high, s->offset));
    return _mm512_max_epi8(_mm512_min_epi8(bytes, s->most), s->least);
}

#include "../gemm/bytes_avx512.h"
#include "stage_float.h"

#endif
