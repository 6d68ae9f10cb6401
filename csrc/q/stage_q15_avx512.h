/* The output stage of q15 on 16 lanes: shift, saturate, rectify; 32 outputs at a time. */
#ifndef QN_Q_STAGE_Q15_AVX512_H
#define QN_Q_STAGE_Q15_AVX512_H

#include "../gemm/unroll.h"

typedef int16_t element;

typedef struct stage {
    __m512i out_shift, least;
} stage;

static inline stage stage_of(int32_t out_shift, int32_t relu) {
    stage s = {_mm512_set1_epi32(out_shift), _mm512_set1_epi16(relu ? 0 : INT16_MIN)};
    return s;
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m512i acc[16][4]) {
    QN_EACH(pixels, vectors, acc[p][v] = _mm512_srav_epi32(acc[p][v], s->out_shift));
}

static inline __m512i bounded(const stage *s, __m512i values) {
    return _mm512_max_epi16(values, s->least);
}

#include "../gemm/halfwords_avx512.h"

#endif
