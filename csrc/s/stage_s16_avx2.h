/* The output stage of s16 on 8 lanes; see stage_s16_avx512.h. */
#ifndef QN_S_STAGE_S16_AVX2_H
#define QN_S_STAGE_S16_AVX2_H

#include "../gemm/unroll.h"
#include "requantize_avx2.h"

typedef int16_t element;

typedef struct stage {
    const int32_t *rows; /* of the first vector of channels */
    __m256i most, least; /* halfwords */
    int narrow, single;
} stage;

static inline stage stage_of(const s_stage *last, int narrow, const int32_t *rows) {
    stage s = {rows, _mm256_set1_epi16((int16_t)last->act_max),
               _mm256_set1_epi16((int16_t)last->act_min), narrow,
               qn_rounding(last->profile) == QN_SINGLE};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    stage s = *all;
    s.rows += v * STAGE_ROWS * 8;
    return s;
}
#define STAGE_FROM(last, v) stage_from(last, v)

/* Out of line: a bias of 32 bits is rare. */
static __attribute__((noinline)) void shift_narrow(const stage *s, int pixels, int vectors,
                                                   __m256i acc[16][4]) {
    for (int v = 0; v < vectors; v++) {
        const int32_t *rows = s->rows + v * STAGE_ROWS * 8;
        for (int p = 0; p < pixels; p++) {
            acc[p][v] = s->single ? requantized_single(rows, acc[p][v])
                                  : requantized_double(rows, acc[p][v]);
        }
    }
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m256i acc[16][4]) {
    if (s->narrow) {
        __m256i held[16][4]; /* so that acc need not have an address */
        QN_EACH(pixels, vectors, held[p][v] = acc[p][v]);
        shift_narrow(s, pixels, vectors, held);
        QN_EACH(pixels, vectors, acc[p][v] = held[p][v]);
        return;
    }
    QN_EACH(pixels, vectors, acc[p][v] = requantized_wide(s->rows + v * STAGE_ROWS * 8, acc[p][v]));
}

static inline __m256i bounded(const stage *s, __m256i values) {
    return _mm256_max_epi16(_mm256_min_epi16(values, s->most), s->least);
}

#include "../gemm/halfwords_avx2.h"

#endif
