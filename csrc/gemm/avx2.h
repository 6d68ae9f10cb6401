/* AVX2: a step multiplies two halfwords of a pixel with two weights. */
#ifndef QN_GEMM_AVX2_H
#define QN_GEMM_AVX2_H

#include "ymm.h"

enum { TILE_1 = 12, TILE_2 = 4 };

/* VPMADDWD, VPADDD: modulo 2^32, as the one sum that leaves int32, of two (-32768)^2, wraps to
 * the right bits. */
static inline vec vec_dot_s16(vec acc, vec pixel, vec weights) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pixel, weights));
}

#endif
