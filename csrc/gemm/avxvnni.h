/* AVX-VNNI: a step multiplies four unsigned bytes of a pixel with four signed weights. */
#ifndef QN_GEMM_AVXVNNI_H
#define QN_GEMM_AVXVNNI_H

#include "ymm.h"

enum { TILE_1 = 12, TILE_2 = 6 };

/* A test on a host without AVX-VNNI defines this as "" and gets the same instruction in the
 * encoding of AVX-512. */
#ifndef QN_VEX
#define QN_VEX "%{vex%} "
#endif

/* VPDPBUSD: acc + the products of pixel (unsigned) and weights (signed), modulo 2^32. Assembly
 * because it needs no compiler that knows AVX-VNNI. */
static inline vec vec_dot_u8_s8(vec acc, vec pixel, vec weights) {
    __asm__(QN_VEX "vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(pixel), "x"(weights));
    return acc;
}

#endif
