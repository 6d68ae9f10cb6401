/* The output stage of q7 on 16 lanes: shift, saturate, rectify; 64 outputs at a time. */
#ifndef QN_Q_STAGE_Q7_AVX512_H
#define QN_Q_STAGE_Q7_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"

typedef int8_t element;

typedef struct stage {
    __m512i out_shift, least;
} stage;

static inline stage stage_of(int32_t out_shift, int32_t relu) {
    stage s = {_mm512_set1_epi32(out_shift), _mm512_set1_epi8(relu ? 0 : INT8_MIN)};
    return s;
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m512i acc[16][4]) {
    QN_EACH(pixels, vectors, acc[p][v] = _mm512_srav_epi32(acc[p][v], s->out_shift));
}

static inline __m512i bytes_of(const stage *s, __m512i low, __m512i high) {
    return _mm512_max_epi8(_mm512_packs_epi16(low, high), s->least);
}

#include "../gemm/bytes_avx512.h"

#endif
