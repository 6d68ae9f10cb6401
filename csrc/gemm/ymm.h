/* 8 lanes of int32, in 16 registers. */
#ifndef QN_GEMM_YMM_H
#define QN_GEMM_YMM_H

#include <immintrin.h>
#include <stdint.h>

typedef __m256i vec;

enum { LANES = 8 };

#define FOLDS 0
#define MOST_VECTORS 2

static inline vec vec_load(const int32_t *values) {
    return _mm256_loadu_si256((const __m256i *)values);
}

/* The four bytes at an address, in every lane. */
static inline vec vec_broadcast(const void *pixel) {
    int32_t step;
    __builtin_memcpy(&step, pixel, sizeof step);
    return _mm256_set1_epi32(step);
}

#endif
