/* Output stages of halfwords on 16 lanes: saturates what the stage shifts, 32 outputs at a time.
 *
 * Included after `stage` and
 *   shift_tile(s, pixels, vectors, acc)   shifts the accumulators of a tile in place
 *   bounded(s, values)                    saturated halfwords, within the stage's bounds */
#ifndef QN_GEMM_HALFWORDS_AVX512_H
#define QN_GEMM_HALFWORDS_AVX512_H

#include "unroll.h"

/* Two vectors as halfwords: quarter q holds values 4q..4q+3 of a, then of b. */
static inline __m512i stage_pack(const stage *s, __m512i a, __m512i b) {
    return bounded(s, _mm512_packs_epi32(a, b));
}

/* The first `count` values of a vector, any number from 0. */
static inline void stage_store(int16_t *out, __m512i values, int count) {
    const __mmask32 mask = count < 32 ? (__mmask32)((UINT32_C(1) << count) - 1u) : UINT32_MAX;
    _mm512_mask_storeu_epi16(out, mask, values);
}

/* Two pixels, one vector each. */
static inline void stage_two(const stage *s, int16_t *out, int64_t next, int count, __m512i a,
                             __m512i b, int pixels) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __mmask16 mask = (__mmask16)((1u << count) - 1u);
    __m512i values = _mm512_permutexvar_epi64(order, stage_pack(s, a, b));
    _mm256_mask_storeu_epi16(out, mask, _mm512_castsi512_si256(values));
    if (pixels == 2) {
        _mm256_mask_storeu_epi16(out + next, mask, _mm512_extracti64x4_epi64(values, 1));
    }
}

/* One pixel, four vectors; count > 32. */
static inline void stage_one(const stage *s, int16_t *out, int count, const __m512i *a) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i even = stage_pack(s, a[0], a[1]), odd = stage_pack(s, a[2], a[3]);
    stage_store(out, _mm512_permutex2var_epi64(even, first, odd), 32);
    stage_store(out + 32, _mm512_permutex2var_epi64(even, second, odd), count - 32);
}

QN_INLINE void stage_put(const stage *s, int16_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m512i acc[16][4]) {
    shift_tile(s, pixels, vectors, acc);
    if (vectors == 1) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 2) {
            const int have = pixels - p < 2 ? 1 : 2;
            stage_two(s, out + p * next, next, count, acc[p][0], acc[have > 1 ? p + 1 : p][0],
                      have);
        }
    } else if (vectors == 2) {
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            stage_store(out + p * next, stage_pack(s, acc[p][0], acc[p][1]), count);
        }
    } else {
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            stage_one(s, out + p * next, count, acc[p]);
        }
    }
}

#endif
