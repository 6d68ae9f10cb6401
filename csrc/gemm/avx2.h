/* 8 lanes of int32 in 16 registers; a step multiplies two halfwords of a pixel with two weights. */
#ifndef QN_GEMM_AVX2_H
#define QN_GEMM_AVX2_H

#include <immintrin.h>
#include <stdint.h>

typedef __m256i vec;

enum { LANES = 8 };

#define FOLDS 0
#define MOST_VECTORS 2
enum { TILE_1 = 12, TILE_2 = 4 };

static inline vec vec_load(const int32_t *values) {
    return _mm256_loadu_si256((const __m256i *)values);
}

/* The four bytes at an address, in every lane. */
static inline vec vec_broadcast(const void *pixel) {
    int32_t step;
    __builtin_memcpy(&step, pixel, sizeof step);
    return _mm256_set1_epi32(step);
}

/* VPMADDWD, VPADDD: modulo 2^32, as the one sum that leaves int32, of two (-32768)^2, wraps to
 * the right bits. */
static inline vec vec_dot_s16(vec acc, vec pixel, vec weights) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pixel, weights));
}

#endif
