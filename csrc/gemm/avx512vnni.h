/* 16 lanes of int32 in 32 registers; a step multiplies four unsigned bytes of a pixel with four
 * signed weights, or two halfwords with two. */
#ifndef QN_GEMM_AVX512VNNI_H
#define QN_GEMM_AVX512VNNI_H

#include <immintrin.h>
#include <stdint.h>

typedef __m512i vec;

enum { LANES = 16 };

#ifndef FOLDS /* tiles of AMX have an order of their own */
#define FOLDS 1
#define MOST_VECTORS 4
#endif
enum { TILE_1 = 16, TILE_2 = 12, TILE_4 = 6, TILE_FOLD = 12 };

static inline vec vec_load(const int32_t *values) { return _mm512_loadu_si512(values); }

/* The four bytes at an address, in every lane. */
static inline vec vec_broadcast(const void *pixel) {
    int32_t step;
    __builtin_memcpy(&step, pixel, sizeof step);
    return _mm512_set1_epi32(step);
}

/* Two or four dwords of a pixel, over and over; values of every second or fourth lane, zeros
 * between. */
static inline vec vec_broadcast_2(const void *pixel) {
    int64_t steps;
    __builtin_memcpy(&steps, pixel, sizeof steps);
    return _mm512_set1_epi64(steps);
}
static inline vec vec_broadcast_4(const void *pixel) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)pixel));
}
static inline vec vec_spread_2(const int32_t *values) {
    return _mm512_maskz_expandloadu_epi32(0x5555, values);
}
static inline vec vec_spread_4(const int32_t *values) {
    return _mm512_maskz_expandloadu_epi32(0x1111, values);
}

/* Lanes 4j, 4j + 1: the sums of lanes 4j, 4j + 1 and of 4j + 2, 4j + 3 of vector 0; then of 1. */
static inline vec vec_fold_2(const vec of[4]) {
    __m512 a = _mm512_castsi512_ps(of[0]), b = _mm512_castsi512_ps(of[1]);
    return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                            _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
}

/* Lane 4j + g: the sum of lanes 4j..4j+3 of vector g. */
static inline vec vec_fold_4(const vec of[4]) {
    vec low =
        _mm512_add_epi32(_mm512_unpacklo_epi32(of[0], of[1]), _mm512_unpackhi_epi32(of[0], of[1]));
    vec high =
        _mm512_add_epi32(_mm512_unpacklo_epi32(of[2], of[3]), _mm512_unpackhi_epi32(of[2], of[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
}

/* VPDPBUSD: acc + the products of pixel (unsigned) and weights (signed), modulo 2^32. Inline
 * assembly keeps the accumulators where they are; the intrinsic makes gcc copy and spill them. */
static inline vec vec_dot_u8_s8(vec acc, vec pixel, vec weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(pixel), "v"(weights));
    return acc;
}

/* VPDPWSSD: the same for two signed halfwords. */
static inline vec vec_dot_s16(vec acc, vec pixel, vec weights) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(pixel), "v"(weights));
    return acc;
}

#endif
