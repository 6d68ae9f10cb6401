/* Output stages of halfwords on 8 lanes, 16 outputs at a time; see halfwords_avx512.h. */
#ifndef QN_GEMM_HALFWORDS_AVX2_H
#define QN_GEMM_HALFWORDS_AVX2_H

#include "store_part.h"
#include "unroll.h"

/* Two vectors as halfwords: half h holds values 4h..4h+3 of a, then of b. */
static inline __m256i stage_pack(const stage *s, __m256i a, __m256i b) {
    return bounded(s, _mm256_packs_epi32(a, b));
}

/* Two pixels, one vector each. */
static inline void stage_two(const stage *s, int16_t *out, int64_t next, int count, __m256i a,
                             __m256i b, int pixels) {
    __m256i values = _mm256_permute4x64_epi64(stage_pack(s, a, b), _MM_SHUFFLE(3, 1, 2, 0));
    store_part(out, _mm256_castsi256_si128(values), 2 * count);
    if (pixels == 2) {
        store_part(out + next, _mm256_extracti128_si256(values, 1), 2 * count);
    }
}

/* One pixel, two vectors. */
static inline void stage_one(const stage *s, int16_t *out, int count, const __m256i *a) {
    __m256i values = stage_pack(s, a[0], a[1]);
    if (count == 16) {
        _mm256_storeu_si256((__m256i *)out, values);
        return;
    }
    store_part(out, _mm256_castsi256_si128(values), 2 * count);
    if (count > 8) {
        store_part(out + 8, _mm256_extracti128_si256(values, 1), 2 * (count - 8));
    }
}

QN_INLINE void stage_put(const stage *s, int16_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m256i acc[16][4]) {
    shift_tile(s, pixels, vectors, acc);
    if (vectors == 1) {
        QN_UNROLL
        for (int p = 0; p < pixels; p += 2) {
            const int have = pixels - p < 2 ? 1 : 2;
            stage_two(s, out + p * next, next, count, acc[p][0], acc[have > 1 ? p + 1 : p][0],
                      have);
        }
    } else {
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            stage_one(s, out + p * next, count, acc[p]);
        }
    }
}

#endif
