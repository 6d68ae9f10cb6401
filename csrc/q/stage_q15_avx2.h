/* The output stage of q15 on 8 lanes: shift, saturate, rectify; 16 outputs at a time. */
#ifndef QN_Q_STAGE_Q15_AVX2_H
#define QN_Q_STAGE_Q15_AVX2_H

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

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m256i acc[16][4]) {
    QN_EACH(pixels, vectors, acc[p][v] = _mm256_sra_epi32(acc[p][v], s->out_shift));
}

static inline __m256i bounded(const stage *s, __m256i values) {
    return _mm256_max_epi16(values, s->least);
}

#include "../gemm/halfwords_avx2.h"

#endif
