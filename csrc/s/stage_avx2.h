/* The output stage of s8 on 8 lanes: every channel requantizes by its own pair. */
#ifndef QN_S_STAGE_AVX2_H
#define QN_S_STAGE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"
#include "requantize_avx2.h"

typedef int8_t element;

/* The output's offset is added to exact sums modulo 2^32, and lies in the rows of quick ones. */
typedef struct stage {
    const int32_t *rows; /* of the first vector of channels, as stage_rows.h has them */
    __m256i most, least; /* bytes */
    stage_kind kind;
    int single;
    int32_t exact_offset;
} stage;

static inline stage stage_of(const s_stage *last, stage_kind kind, const int32_t *rows) {
    stage s = {
        rows, _mm256_set1_epi8((int8_t)last->act_max), _mm256_set1_epi8((int8_t)last->act_min),
        kind, qn_rounding(last->profile) == QN_SINGLE, last->output_offset};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    stage s = *all;
    s.rows += v * STAGE_ROWS * 8;
    return s;
}
#define STAGE_FROM(last, v) stage_from(last, v)

static inline __m256i requantized_quick(const int32_t *rows, __m256i acc) {
    __m256i a = _mm256_add_epi32(acc, acc);
    __m256i even = _mm256_add_epi64(even_products(rows, a), row_of(rows, ADD_EVEN));
    __m256i odd = _mm256_add_epi64(odd_products(rows, a), row_of(rows, ADD_ODD));
    __m256i t = upper(even, odd);
    t = _mm256_add_epi32(t, _mm256_cmpgt_epi32(row_of(rows, NUDGE), t)); /* -1 where negative */
    return _mm256_srav_epi32(t, row_of(rows, RIGHT));
}

/* What is not quick, out of line: it is rare. */
static __attribute__((noinline)) void shift_slowly(const stage *s, int pixels, int vectors,
                                                   __m256i acc[16][4]) {
    const __m256i offset = _mm256_set1_epi32(s->exact_offset);
    for (int v = 0; v < vectors; v++) {
        const int32_t *rows = s->rows + v * STAGE_ROWS * 8;
        for (int p = 0; p < pixels; p++) {
            acc[p][v] = s->single ? requantized_single(rows, acc[p][v])
                                  : requantized_double(rows, acc[p][v]);
            acc[p][v] = _mm256_add_epi32(acc[p][v], offset);
        }
    }
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m256i acc[16][4]) {
    if (s->kind != STAGE_QUICK) {
        __m256i held[16][4]; /* so that acc need not have an address */
        QN_EACH(pixels, vectors, held[p][v] = acc[p][v]);
        shift_slowly(s, pixels, vectors, held);
        QN_EACH(pixels, vectors, acc[p][v] = held[p][v]);
        return;
    }
    QN_EACH(pixels, vectors,
            acc[p][v] = requantized_quick(s->rows + v * STAGE_ROWS * 8, acc[p][v]));
}

static inline __m256i bytes_of(const stage *s, __m256i low, __m256i high) {
    __m256i bytes = _mm256_packs_epi16(low, high);
    return _mm256_max_epi8(_mm256_min_epi8(bytes, s->most), s->least);
}

#include "../gemm/bytes_avx2.h"

/* Floats would need each operation to round toward zero, which AVX2 cannot. */
typedef struct stage_scale {
    float scale, rest, half;
} stage_scale;

static inline int stage_float_of(const stage_channel *c, const s_stage *last, stage_scale *found) {
    (void)c, (void)last, (void)found;
    return 0;
}

#endif
