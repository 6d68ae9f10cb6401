/* Strips on AVX2: two kernel rows an instruction, of bytes widened by widened().
 * Included after OFFSET (0), widened(), `stage`, whose `least` bounds the bytes from below, and
 * shifted(). */
#ifndef QN_GEMM_STRIPS_AVX2_H
#define QN_GEMM_STRIPS_AVX2_H

#include <string.h>

#include "avx2.h"

typedef int16_t value;
enum { ROWS = 2 };

/* VPMADDWD is exact: two products of 9 and 8 bits stay below 2^17. */
#define dot vec_dot_s16

/* 16 values of a row; the last ones go through a vector of their own. */
static inline __m128i row_values(const int8_t *row, int64_t at, int32_t count, int32_t edge) {
    int8_t some[16];
    memset(some, edge, sizeof some);
    if (row && count >= 16) {
        return _mm_loadu_si128((const __m128i *)(row + at));
    }
    if (row) {
        memcpy(some, row + at, (size_t)count);
    }
    return _mm_loadu_si128((const __m128i *)some);
}

static void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge,
                       int32_t *lanes) {
    for (int32_t i = 0; i < count; i += 16, at += 16, lanes += 16) {
        __m128i a = row_values(rows[0], at, count - i, edge);
        __m128i b = row_values(rows[1], at, count - i, edge);
        vec low = widened(_mm_unpacklo_epi8(a, b));
        vec high = widened(_mm_unpackhi_epi8(a, b));
        _mm256_storeu_si256((vec *)lanes, low);
        _mm256_storeu_si256((vec *)(lanes + 8), high);
    }
}

static inline void put(const stage *last, vec acc, int8_t *out, int32_t count) {
    acc = shifted(last, 0, acc);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(acc), _mm256_extracti128_si256(acc, 1));
    __m128i result =
        _mm_max_epi8(_mm_packs_epi16(words, words), _mm256_castsi256_si128(last->least));
    if (count == LANES) {
        _mm_storel_epi64((__m128i *)out, result);
    } else {
        int8_t some[16];
        _mm_storeu_si128((__m128i *)some, result);
        memcpy(out, some, (size_t)count);
    }
}

#include "strips.h"

#endif
