/* The output stage of 8 bits on 16 lanes: every channel shifts by its own, and saturates. */
#ifndef QN_NPU_STAGE_AVX512_H
#define QN_NPU_STAGE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"

typedef int8_t element;

/* shifts: of the lanes, in the order of the accumulators. */
typedef struct stage {
    const int32_t *shifts;
    __m512i least;
} stage;

static inline stage stage_of(const int32_t *shifts) {
    stage s = {shifts, _mm512_set1_epi8(INT8_MIN)};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    return stage_of(all->shifts + v * 16);
}
#define STAGE_FROM(last, v) stage_from(last, v)

static inline __m512i lane_shifts(const stage *s, int v) {
    return _mm512_loadu_si512(s->shifts + v * 16);
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m512i acc[16][4]) {
    QN_EACH(pixels, vectors, acc[p][v] = _mm512_srav_epi32(acc[p][v], lane_shifts(s, v)));
}

static inline __m512i bytes_of(const stage *s, __m512i low, __m512i high) {
    return _mm512_max_epi8(_mm512_packs_epi16(low, high), s->least);
}

#include "../gemm/bytes_avx512.h"

#endif
