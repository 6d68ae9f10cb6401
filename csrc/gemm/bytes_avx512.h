/* Output stages of bytes on 16 lanes: saturates what the stage shifts, 64 outputs at a time.
 *
 * Included after `stage` and
 *   shift_tile(s, pixels, vectors, acc)   shifts the accumulators of a tile in place
 *   bytes_of(s, low, high)                of two vectors of saturated halfwords, in the order of
 *                                         the packing instructions and within the stage's bounds */
#ifndef QN_GEMM_BYTES_AVX512_H
#define QN_GEMM_BYTES_AVX512_H

#include "unroll.h"

/* Four vectors as bytes: quarter q holds values 4q..4q+3 of a, then of b, c, d. */
static inline __m512i stage_pack(const stage *s, __m512i a, __m512i b, __m512i c, __m512i d) {
    __m512i ab = _mm512_packs_epi32(a, b);
    __m512i cd = _mm512_packs_epi32(c, d);
    return bytes_of(s, ab, cd);
}

/* Four pixels, one vector each. */
static inline void stage_four(const stage *s, int8_t *out, int64_t next, int count,
                              const __m512i *a, const __m512i *b, const __m512i *c,
                              const __m512i *d, int pixels) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes = _mm512_permutexvar_epi32(order, stage_pack(s, *a, *b, *c, *d));
    if (pixels == 4 && count == 16 && next == 16) {
        _mm512_storeu_si512(out, bytes);
        return;
    }
    const __mmask16 mask = (__mmask16)((1u << count) - 1u);
    const __m128i each[4] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
                             _mm512_extracti32x4_epi32(bytes, 2),
                             _mm512_extracti32x4_epi32(bytes, 3)};
    for (int p = 0; p < pixels; p++) {
        _mm_mask_storeu_epi8(out + p * next, mask, each[p]);
    }
}

/* Two pixels, two vectors each. */
static inline void stage_two(const stage *s, int8_t *out, int64_t next, int count, const __m512i *a,
                             const __m512i *b, int pixels) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i bytes = stage_pack(s, a[0], a[1], b[0], b[1]);
    bytes = _mm512_permutexvar_epi64(order, bytes);
    if (pixels == 2 && count == 32 && next == 32) {
        _mm512_storeu_si512(out, bytes);
        return;
    }
    const __mmask32 mask = (__mmask32)((UINT64_C(1) << count) - 1u);
    _mm256_mask_storeu_epi8(out, mask, _mm512_castsi512_si256(bytes));
    if (pixels == 2) {
        _mm256_mask_storeu_epi8(out + next, mask, _mm512_extracti64x4_epi64(bytes, 1));
    }
}

QN_INLINE void stage_put(const stage *s, int8_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m512i acc[16][4]) {
    shift_tile(s, pixels, vectors, acc);
    if (vectors == 1) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 4) {
            const int have = pixels - p < 4 ? pixels - p : 4;
            stage_four(s, out + p * next, next, count, acc[p], acc[have > 1 ? p + 1 : p],
                       acc[have > 2 ? p + 2 : p], acc[have > 3 ? p + 3 : p], have);
        }
    } else if (vectors == 2) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 2) {
            const int have = pixels - p < 2 ? 1 : 2;
            stage_two(s, out + p * next, next, count, acc[p], acc[have > 1 ? p + 1 : p], have);
        }
    } else {
        const __mmask64 mask = count < 64 ? (UINT64_C(1) << count) - 1u : UINT64_MAX;
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            __m512i bytes = stage_pack(s, acc[p][0], acc[p][1], acc[p][2], acc[p][3]);
            _mm512_mask_storeu_epi8(out + p * next, mask, bytes);
        }
    }
}

#endif
