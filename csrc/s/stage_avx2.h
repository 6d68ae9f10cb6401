/* The output stage of s8 on 8 lanes: every channel requantizes by its own pair. */
#ifndef QN_S_STAGE_AVX2_H
#define QN_S_STAGE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "stage_rows.h"

typedef int8_t element;

typedef struct stage {
    const int32_t *rows; /* of the first vector of channels, as stage_rows.h has them */
    __m256i offset, most, least;
    int single;
} stage;

static inline stage stage_of(const s_stage *last, const int32_t *rows) {
    stage s = {rows, _mm256_set1_epi32(last->output_offset), _mm256_set1_epi32(last->act_max),
               _mm256_set1_epi8((int8_t)last->act_min), qn_rounding(last->profile) == QN_SINGLE};
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

/* qn_hm(), then qn_rdp() of magnitudes: halves go away from zero, and no magnitude passes 2^31. */
static inline __m256i requantized_double(const int32_t *rows, __m256i acc) {
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    __m256i a = _mm256_sllv_epi32(acc, row_of(rows, LEFT));
    __m256i even = _mm256_mul_epi32(a, row_of(rows, MULTIPLIER));
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), row_of(rows, MULTIPLIER_ODD));
    even = _mm256_srli_epi64(_mm256_add_epi64(even, half), 31);
    odd = _mm256_slli_epi64(_mm256_add_epi64(odd, half), 1);
    __m256i high = _mm256_blend_epi32(even, odd, 0xaa);
    __m256i nudged = _mm256_add_epi32(_mm256_abs_epi32(high), row_of(rows, NUDGE));
    __m256i rounded = _mm256_srlv_epi32(nudged, row_of(rows, RIGHT));
    return _mm256_sign_epi32(rounded, high);
}

/* floor(x / 2^shift) of 64 bits, which AVX2 only has of unsigned x. */
static inline __m256i shifted_64(__m256i x, __m256i shift) {
    __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    __m256i moved = _mm256_srlv_epi64(_mm256_xor_si256(x, sign), shift);
    return _mm256_sub_epi64(moved, _mm256_srlv_epi64(sign, shift));
}

/* qn_requantize_single(): RIGHT holds 30 - shift. */
static inline __m256i requantized_single(const int32_t *rows, __m256i acc) {
    __m256i right = row_of(rows, RIGHT), low = _mm256_set1_epi64x(UINT32_MAX);
    __m256i even = _mm256_mul_epi32(acc, row_of(rows, MULTIPLIER));
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(acc, 32), row_of(rows, MULTIPLIER_ODD));
    even = shifted_64(even, _mm256_and_si256(right, low));
    odd = shifted_64(odd, _mm256_srli_epi64(right, 32));
    __m256i twice = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return _mm256_srai_epi32(_mm256_add_epi32(twice, _mm256_set1_epi32(1)), 1);
}

static inline __m256i shifted(const stage *s, int v, __m256i acc) {
    const int32_t *rows = s->rows + v * STAGE_ROWS * 8;
    __m256i scaled = s->single ? requantized_single(rows, acc) : requantized_double(rows, acc);
    return _mm256_min_epi32(_mm256_add_epi32(scaled, s->offset), s->most);
}

#include "../gemm/bytes_avx2.h"

#endif
