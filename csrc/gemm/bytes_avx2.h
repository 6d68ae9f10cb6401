/* Output stages of bytes on 8 lanes: saturates what the stage shifts, 32 outputs at a time.
 *
 * Included after `stage` and
 *   shift_tile(s, pixels, vectors, acc)   shifts the accumulators of a tile in place
 *   bytes_of(s, low, high)                of two vectors of saturated halfwords, in the order of
 *                                         the packing instructions and within the stage's bounds */
#ifndef QN_GEMM_BYTES_AVX2_H
#define QN_GEMM_BYTES_AVX2_H

#include "store_part.h"
#include "unroll.h"

/* Four vectors as bytes: half h holds values 4h..4h+3 of a, then of b, c, d. */
static inline __m256i stage_pack(const stage *s, __m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i ab = _mm256_packs_epi32(a, b);
    __m256i cd = _mm256_packs_epi32(c, d);
    return bytes_of(s, ab, cd);
}

/* Four pixels, one vector each. */
static inline void stage_four(const stage *s, int8_t *out, int64_t next, int count,
                              const __m256i *a, const __m256i *b, const __m256i *c,
                              const __m256i *d, int pixels) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_permutevar8x32_epi32(stage_pack(s, *a, *b, *c, *d), order);
    if (pixels == 4 && count == 8 && next == 8) {
        _mm256_storeu_si256((__m256i *)out, bytes);
        return;
    }
    const __m128i ab = _mm256_castsi256_si128(bytes), cd = _mm256_extracti128_si256(bytes, 1);
    const __m128i each[4] = {ab, _mm_unpackhi_epi64(ab, ab), cd, _mm_unpackhi_epi64(cd, cd)};
    for (int p = 0; p < pixels; p++) {
        store_part(out + p * next, each[p], count);
    }
}

/* Two pixels, two vectors each. */
static inline void stage_two(const stage *s, int8_t *out, int64_t next, int count, const __m256i *a,
                             const __m256i *b, int pixels) {
    __m256i bytes = stage_pack(s, a[0], a[1], b[0], b[1]);
    bytes = _mm256_permute4x64_epi64(bytes, _MM_SHUFFLE(3, 1, 2, 0));
    store_part(out, _mm256_castsi256_si128(bytes), count);
    if (pixels == 2) {
        store_part(out + next, _mm256_extracti128_si256(bytes, 1), count);
    }
}

QN_INLINE void stage_put(const stage *s, int8_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m256i acc[16][4]) {
    shift_tile(s, pixels, vectors, acc);
    if (vectors == 1) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 4) {
            const int have = pixels - p < 4 ? pixels - p : 4;
            stage_four(s, out + p * next, next, count, &acc[p][0], &acc[have > 1 ? p + 1 : p][0],
                       &acc[have > 2 ? p + 2 : p][0], &acc[have > 3 ? p + 3 : p][0], have);
        }
    } else {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 2) {
            const int have = pixels - p < 2 ? 1 : 2;
            stage_two(s, out + p * next, next, count, acc[p], acc[have > 1 ? p + 1 : p], have);
        }
    }
}

#endif
