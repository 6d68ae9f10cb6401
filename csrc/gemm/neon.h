/* Neon with dot products: 4 lanes of int32 in 32 registers; a step multiplies four signed bytes of
 * a pixel with four weights. */
#ifndef QN_GEMM_NEON_H
#define QN_GEMM_NEON_H

#include <arm_neon.h>
#include <stdint.h>

typedef int32x4_t vec;

enum { LANES = 4 };

#define FOLDS 0
#define MOST_VECTORS 4
enum { TILE_1 = 16, TILE_2 = 12, TILE_4 = 6 };

static inline vec vec_load(const int32_t *values) { return vld1q_s32(values); }

/* The four bytes at an address, in every lane. */
static inline vec vec_broadcast(const void *pixel) {
    int32_t step;
    __builtin_memcpy(&step, pixel, sizeof step);
    return vdupq_n_s32(step);
}

/* SDOT: acc + the products of pixel and weights, modulo 2^32. Assembly because not every compiler
 * has the intrinsic without an option for the whole file. */
static inline vec vec_dot_s8(vec acc, vec pixel, vec weights) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(pixel), "w"(weights));
    return acc;
}

#endif
