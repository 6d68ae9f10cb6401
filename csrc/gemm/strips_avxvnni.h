/* Strips on AVX-VNNI: four kernel rows an instruction, of bytes plus OFFSET.
 * Included after avxvnni.h, OFFSET, `stage`, whose `least` bounds the bytes from below, and
 * shifted(). */
#ifndef QN_GEMM_STRIPS_AVXVNNI_H
#define QN_GEMM_STRIPS_AVXVNNI_H

#include <string.h>

#include "unroll.h"

typedef int8_t value;
enum { ROWS = 4, STRIP_PIXELS = 2 };

#define dot vec_dot_u8_s8

/* 16 values of a row; the last ones go through a vector of their own. */
static inline __m128i row_values(const int8_t *row, int64_t at, int32_t count, int32_t edge) {
    const __m128i offset = _mm_set1_epi8(-OFFSET); /* turns the sign bit over or leaves it */
    int8_t some[16];
    memset(some, edge, sizeof some);
    if (row && count >= 16) {
        return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(row + at)), offset);
    }
    if (row) {
        memcpy(some, row + at, (size_t)count);
    }
    return _mm_xor_si128(_mm_loadu_si128((const __m128i *)some), offset);
}

/* Four lanes of either vector are what unpacking makes at a time. */
QN_INLINE void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge,
                          int group, int32_t *lanes) {
    for (int32_t i = 0; i < count; i += 16, at += 16, lanes += 16) {
        __m128i a = row_values(rows[0], at, count - i, edge);
        __m128i b = row_values(rows[1], at, count - i, edge);
        __m128i c = row_values(rows[2], at, count - i, edge);
        __m128i d = row_values(rows[3], at, count - i, edge);
        __m128i ab = _mm_unpacklo_epi8(a, b), ab_high = _mm_unpackhi_epi8(a, b);
        __m128i cd = _mm_unpacklo_epi8(c, d), cd_high = _mm_unpackhi_epi8(c, d);
        __m128i *to = (__m128i *)lanes;
        _mm_storeu_si128(to, _mm_unpacklo_epi16(ab, cd));
        _mm_storeu_si128(to + (group == 2 ? 2 : 1), _mm_unpackhi_epi16(ab, cd));
        _mm_storeu_si128(to + (group == 2 ? 1 : 2), _mm_unpacklo_epi16(ab_high, cd_high));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(ab_high, cd_high));
    }
}

#include "strips.h"

#endif
