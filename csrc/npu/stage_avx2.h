/* The output stage of 8 bits on 8 lanes: every channel shifts by its own, and saturates. */
#ifndef QN_NPU_STAGE_AVX2_H
#define QN_NPU_STAGE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "../gemm/unroll.h"

typedef int8_t element;

/* shifts: of the lanes, in the order of the accumulators. */
typedef struct stage {
    const int32_t *shifts;
    __m256i least;
} stage;

static inline stage stage_of(const int32_t *shifts) {
    stage s = {shifts, _mm256_set1_epi8(INT8_MIN)};
    return s;
}

static inline stage stage_from(const stage *all, int64_t v) {
    return stage_of(all->shifts + v * 8);
}
#define STAGE_FROM(last, v) stage_from(last, v)

static inline __m256i lane_shifts(const stage *s, int v) {
    return _mm256_loadu_si256((const __m256i *)(s->shifts + v * 8));
}

QN_INLINE void shift_tile(const stage *s, const int pixels, const int vectors, __m256i acc[16][4]) {
    QN_EACH(pixels, vectors, acc[p][v] = _mm256_srav_epi32(acc[p][v], lane_shifts(s, v)));
}

static inline __m256i bytes_of(const stage *s, __m256i low, __m256i high) {
    return _mm256_max_epi8(_mm256_packs_epi16(low, high), s->least);
}

#include "../gemm/bytes_avx2.h"

#endif
