/* Strips on AVX-512 VNNI: four kernel rows an instruction, of bytes plus OFFSET.
 * Included after OFFSET, `stage`, whose `least` bounds the bytes from below, and shifted(). */
#ifndef QN_GEMM_STRIPS_AVX512_H
#define QN_GEMM_STRIPS_AVX512_H

#include "avx512vnni.h"

typedef int8_t value;
enum { ROWS = 4 };

#define dot vec_dot_u8_s8

/* 64 values of a row, sorted so that the unpacking below, which works within quarters, leaves the
 * lanes in order. */
static inline vec row_values(const int8_t *row, int64_t at, __mmask64 some, vec edge) {
    const vec transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    if (!row) {
        return edge;
    }
    return _mm512_permutexvar_epi32(transposed, _mm512_mask_loadu_epi8(edge, some, row + at));
}

/* OFFSET, 128 or 0, turns the sign bit over or leaves it. */
static void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge,
                       int32_t *lanes) {
    const vec offset = _mm512_set1_epi8(-OFFSET), beside = _mm512_set1_epi8((int8_t)edge);
    for (int32_t i = 0; i < count; i += 64, at += 64, lanes += 64) {
        __mmask64 some = count - i < 64 ? ((__mmask64)1 << (count - i)) - 1 : ~(__mmask64)0;
        vec a = _mm512_xor_si512(row_values(rows[0], at, some, beside), offset);
        vec b = _mm512_xor_si512(row_values(rows[1], at, some, beside), offset);
        vec c = _mm512_xor_si512(row_values(rows[2], at, some, beside), offset);
        vec d = _mm512_xor_si512(row_values(rows[3], at, some, beside), offset);
        vec ab = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
        vec cd = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
        _mm512_storeu_si512(lanes, _mm512_unpacklo_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 16, _mm512_unpackhi_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 32, _mm512_unpacklo_epi16(ab_high, cd_high));
        _mm512_storeu_si512(lanes + 48, _mm512_unpackhi_epi16(ab_high, cd_high));
    }
}

static inline void put(const stage *last, vec acc, int8_t *out, int32_t count) {
    __m128i result = _mm512_cvtsepi32_epi8(shifted(last, 0, acc));
    result = _mm_max_epi8(result, _mm512_castsi512_si128(last->least));
    if (count == LANES) {
        _mm_storeu_si128((__m128i *)out, result);
    } else {
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << count) - 1u), result);
    }
}

#include "strips.h"

#endif
