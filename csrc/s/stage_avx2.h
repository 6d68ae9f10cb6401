/* The output stage of s8 on 8 lanes: every channel requantizes by its own pair. */
#ifndef QN_S_STAGE_AVX2_H
#define QN_S_STAGE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"
#include "stage_rows.h"

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

static inline __m256i requantized_quick(const int32_t *rows, __m256i acc) {
    __m256i a = _mm256_add_epi32(acc, acc);
    __m256i even = _mm256_add_epi64(even_products(rows, a), row_of(rows, ADD_EVEN));
    __m256i odd = _mm256_add_epi64(odd_products(rows, a), row_of(rows, ADD_ODD));
    __m256i t = upper(even, odd);
    t = _mm256_add_epi32(t, _mm256_cmpgt_epi32(row_of(rows, NUDGE), t)); /* -1 where negative */
    return _mm256_srav_epi32(t, row_of(rows, RIGHT));
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

/* qn_requantize_single(). */
static inline __m256i requantized_single(const int32_t *rows, __m256i acc) {
    __m256i right = row_of(rows, RIGHT), low = _mm256_set1_epi64x(UINT32_MAX);
    __m256i even = _mm256_add_epi64(even_products(rows, acc), row_of(rows, ADD_EVEN));
    __m256i odd = _mm256_add_epi64(odd_products(rows, acc), row_of(rows, ADD_ODD));
    even = shifted_64(even, _mm256_and_si256(right, low));
    odd = shifted_64(odd, _mm256_srli_epi64(right, 32));
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
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

/* Floats would need each operation to round toward zero, which AVX2 can not. */
typedef struct stage_scale {
    float scale, rest, half;
} stage_scale;

static inline int stage_float_of(const stage_channel *c, const s_stage *last, stage_scale *found) {
    (void)c, (void)last, (void)found;
    return 0;
}

#endif
