/* The output stage of 8 bits on 8 lanes: every channel shifts by its own, and saturates. */
#ifndef QN_NPU_STAGE_AVX2_H
#define QN_NPU_STAGE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

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

static inline __m256i shifted(const stage *s, int v, __m256i acc) {
    return _mm256_srav_epi32(acc, _mm256_loadu_si256((const __m256i *)(s->shifts + v * 8)));
}

#include "../gemm/bytes_avx2.h"

#endif
