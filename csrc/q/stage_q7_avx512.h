/* The output stage of q7 on 16 lanes: shift, saturate, rectify; 64 outputs at a time. */
#ifndef QN_Q_STAGE_Q7_AVX512_H
#define QN_Q_STAGE_Q7_AVX512_H

#include <immintrin.h>
#include <stdint.h>

typedef int8_t element;

typedef struct stage {
    __m512i out_shift, least;
} stage;

static inline stage stage_of(int32_t out_shift, int32_t relu) {
    stage s = {_mm512_set1_epi32(out_shift), _mm512_set1_epi8(relu ? 0 : INT8_MIN)};
    return s;
}

static inline __m512i shifted(const stage *s, int v, __m512i acc) {
    (void)v;
    return _mm512_srav_epi32(acc, s->out_shift);
}

#include "../gemm/bytes_avx512.h"

#endif
