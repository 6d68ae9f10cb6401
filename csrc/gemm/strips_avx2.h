/* Strips on AVX2: two kernel rows an instruction, of bytes widened by widened().
 * Included after OFFSET (0), widened(), `stage`, whose `least` bounds the bytes from below, and
 * shifted(). */
#ifndef QN_GEMM_STRIPS_AVX2_H
#define QN_GEMM_STRIPS_AVX2_H

#include <string.h>

#include "avx2.h"
#include "unroll.h"

typedef int16_t value;
enum { ROWS = 2, STRIP_PIXELS = 2 };

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

QN_INLINE void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge,
                          int group, int32_t *lanes) {
    for (int32_t i = 0; i < count; i += 16, at += 16, lanes += 16) {
        __m128i a = row_values(rows[0], at, count - i, edge);
        __m128i b = row_values(rows[1], at, count - i, edge);
        __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
        if (group == 2) {
            __m128i first = _mm_unpacklo_epi64(low, high);
            high = _mm_unpackhi_epi64(low, high);
            low = first;
        }
        _mm256_storeu_si256((vec *)lanes, widened(low));
        _mm256_storeu_si256((vec *)(lanes + 8), widened(high));
    }
}

#include "strips.h"

#endif
