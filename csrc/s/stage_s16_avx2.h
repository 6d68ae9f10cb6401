/* The output stage of s16 on 8 lanes; see stage_s16_avx512.h. */
#ifndef QN_S_STAGE_S16_AVX2_H
#define QN_S_STAGE_S16_AVX2_H

#include "../gemm/store_part.h"
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

/* Two vectors as halfwords: half h holds values 4h..4h+3 of a, then of b. */
static inline __m256i stage_pack(const stage *s, __m256i a, __m256i b) {
    return _mm256_max_epi16(_mm256_min_epi16(_mm256_packs_epi32(a, b), s->most), s->least);
}

/* Two pixels, one vector each. */
static inline void stage_two(const stage *s, int16_t *out, int64_t next, int count, __m256i a,
                             __m256i b, int pixels) {
    __m256i values = _mm256_permute4x64_epi64(stage_pack(s, a, b), _MM_SHUFFLE(3, 1, 2, 0));
    store_part(out, _mm256_castsi256_si128(values), 2 * count);
    if (pixels == 2) {
        store_part(out + next, _mm256_extracti128_si256(values, 1), 2 * count);
    }
}

/* One pixel, two vectors. */
static inline void stage_one(const stage *s, int16_t *out, int count, const __m256i *a) {
    __m256i values = stage_pack(s, a[0], a[1]);
    if (count == 16) {
        _mm256_storeu_si256((__m256i *)out, values);
        return;
    }
    store_part(out, _mm256_castsi256_si128(values), 2 * count);
    if (count > 8) {
        store_part(out + 8, _mm256_extracti128_si256(values, 1), 2 * (count - 8));
    }
}

QN_INLINE void stage_put(const stage *s, int16_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m256i acc[16][4]) {
    shift_tile(s, pixels, vectors, acc);
    if (vectors == 1) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 2) {
            const int have = pixels - p < 2 ? 1 : 2;
            stage_two(s, out + p * next, next, count, acc[p][0], acc[have > 1 ? p + 1 : p][0],
                      have);
        }
    } else {
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            stage_one(s, out + p * next, count, acc[p]);
        }
    }
}

#endif
