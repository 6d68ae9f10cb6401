/* Strips on AVX-512 VNNI: four kernel rows an instruction, of bytes plus OFFSET.
 * Included after OFFSET, `stage`, whose `least` bounds the bytes from below, and shifted(). */
#ifndef QN_GEMM_STRIPS_AVX512_H
#define QN_GEMM_STRIPS_AVX512_H

#include "avx512vnni.h"

typedef int8_t value;
enum { ROWS = 4, STRIP_PIXELS = 4 };

#define dot vec_dot_u8_s8

/* 64 values of a row, sorted by dwords; beyond `count` the edge. */
static inline vec row_values(const int8_t *row, int32_t count, vec order, vec edge) {
    const vec offset = _mm512_set1_epi8(-OFFSET); /* turns the sign bit over or leaves it */
    if (!row) {
        return _mm512_xor_si512(edge, offset);
    }
    const __mmask64 some = count < 64 ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
    vec values = _mm512_xor_si512(_mm512_mask_loadu_epi8(edge, some, row), offset);
    return _mm512_permutexvar_epi32(order, values);
}

/* Sorted beforehand such that the unpacking, which works within quarters, leaves the lanes of
 * `group` vectors in the engine's order. */
QN_INLINE void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge,
                          int group, int32_t *lanes) {
    const vec one = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const vec two = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    const vec order = group == 2 ? two : one, beside = _mm512_set1_epi8((int8_t)edge);
    for (int32_t i = 0; i < count; i += 64, at += 64, lanes += 64) {
        const int32_t left = count - i;
        vec a = row_values(rows[0] ? rows[0] + at : NULL, left, order, beside);
        vec b = row_values(rows[1] ? rows[1] + at : NULL, left, order, beside);
        vec c = row_values(rows[2] ? rows[2] + at : NULL, left, order, beside);
        vec d = row_values(rows[3] ? rows[3] + at : NULL, left, order, beside);
        vec ab = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
        vec cd = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
        _mm512_storeu_si512(lanes, _mm512_unpacklo_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 16, _mm512_unpackhi_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 32, _mm512_unpacklo_epi16(ab_high, cd_high));
        _mm512_storeu_si512(lanes + 48, _mm512_unpackhi_epi16(ab_high, cd_high));
    }
}

#include "strips.h"

#endif
