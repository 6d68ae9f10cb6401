/* Depthwise convolution on AVX2: two kernel rows an instruction. */
#include <string.h>

#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

typedef __m256i vec;
typedef int16_t value;
enum { LANES = 8, ROWS = 2, OFFSET = 0 };

static inline vec load(const int32_t *lanes) { return _mm256_loadu_si256((const vec *)lanes); }

/* VPMADDWD is exact: two products of q7 values stay below 2^15. */
static inline vec dot(vec acc, vec values, vec weights) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(values, weights));
}

/* 16 values of a row; the last ones go through a vector of their own. */
static inline __m128i row_values(const int8_t *row, int64_t at, int32_t count) {
    int8_t some[16] = {0};
    if (row && count >= 16) {
        return _mm_loadu_si128((const __m128i *)(row + at));
    }
    if (row) {
        memcpy(some, row + at, (size_t)count);
    }
    return _mm_loadu_si128((const __m128i *)some);
}

static void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t *lanes) {
    for (int32_t i = 0; i < count; i += 16, at += 16, lanes += 16) {
        __m128i a = row_values(rows[0], at, count - i);
        __m128i b = row_values(rows[1], at, count - i);
        vec low = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b));
        vec high = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b));
        _mm256_storeu_si256((vec *)lanes, low);
        _mm256_storeu_si256((vec *)(lanes + 8), high);
    }
}

typedef struct stage {
    __m128i shift, least;
} stage;

static inline stage stage_of(const qn_conv *p) {
    return (stage){_mm_cvtsi32_si128(p->out_shift), _mm_set1_epi8(p->relu ? 0 : INT8_MIN)};
}

static inline void put(const stage *last, vec acc, int8_t *out, int32_t count) {
    acc = _mm256_sra_epi32(acc, last->shift);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(acc), _mm256_extracti128_si256(acc, 1));
    __m128i result = _mm_max_epi8(_mm_packs_epi16(words, words), last->least);
    if (count == LANES) {
        _mm_storel_epi64((__m128i *)out, result);
    } else {
        int8_t some[16];
        _mm_storeu_si128((__m128i *)some, result);
        memcpy(out, some, (size_t)count);
    }
}

#include "depthwise_fast.h"

int q_depthwise_q7_avx2(const void *params, const qn_buffers *b) {
    return run_depthwise(params, b);
}

int64_t q_depthwise_q7_avx2_strips(const void *params) { return strips_bytes(params); }

int64_t q_depthwise_q7_avx2_packed(const void *params) { return packed_bytes(params); }

void q_depthwise_q7_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    pack_all(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
