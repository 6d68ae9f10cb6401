/* The output stage of q15 on 8 lanes: shift, saturate, rectify; 16 outputs at a time. */
#ifndef QN_Q_STAGE_Q15_AVX2_H
#define QN_Q_STAGE_Q15_AVX2_H

#include "../gemm/store_part.h"
#include "../gemm/unroll.h"

typedef int16_t element;

typedef struct stage {
    __m128i out_shift;
    __m256i least;
} stage;

static inline stage stage_of(int32_t out_shift, int32_t relu) {
    stage s = {_mm_cvtsi32_si128(out_shift), _mm256_set1_epi16(relu ? 0 : INT16_MIN)};
    return s;
}

/* Two vectors as halfwords: half h holds values 4h..4h+3 of a, then of b. */
static inline __m256i stage_pack(const stage *s, __m256i a, __m256i b) {
    a = _mm256_sra_epi32(a, s->out_shift);
    b = _mm256_sra_epi32(b, s->out_shift);
    return _mm256_max_epi16(_mm256_packs_epi32(a, b), s->least);
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

/* One pixel, two vectors; count > 8. */
static inline void stage_one(const stage *s, int16_t *out, int count, const __m256i *a) {
    __m256i values = stage_pack(s, a[0], a[1]);
    if (count == 16) {
        _mm256_storeu_si256((__m256i *)out, values);
        return;
    }
    store_part(out, _mm256_castsi256_si128(values), 16);
    store_part(out + 8, _mm256_extracti128_si256(values, 1), 2 * (count - 8));
}

QN_INLINE void stage_put(const stage *s, int16_t *out, int64_t next, int count, const int pixels,
                         const int vectors, __m256i acc[16][4]) {
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
