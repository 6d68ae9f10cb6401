/* Declarations that fragments (.inc) expect of their includer, so that each can be read alone:
 *
 *     clang -fsyntax-only -x c -mavx2 -DPRELUDE_ENGINE -include csrc/prelude.h csrc/gemm/tile.inc
 *
 * `.ci/fragments` does so for all, and has the flags; editors can do the same. Without a
 * PRELUDE_... macro a fragment needs nothing.
 *   PRELUDE_EPILOGUE   the parts of an epilogue that gemm/bytes_<isa>.inc and
 *                      gemm/halfwords_<isa>.inc complete
 *   PRELUDE_ENGINE     the head of an engine: instruction set, epilogue, types, traits
 *   PRELUDE_DEPTHWISE     what gemm/depthwise.inc asks of an instruction set, after the head of an
 *                      engine
 *   PRELUDE_CELLS      elements of an image to pool, and what holds their sums
 *   PRELUDE_Q, PRELUDE_S8, PRELUDE_S16, PRELUDE_NPU   a whole engine of an arithmetic */
#ifndef QN_PRELUDE_H
#define QN_PRELUDE_H

#include <stdint.h>

#include "gemm/traits.h"

#if defined(__ARM_NEON)
#include "gemm/neon.inc"
#elif defined(__AVX512F__)
#include "gemm/amx.inc"
#elif defined(PRELUDE_AVXVNNI)
#include "gemm/avxvnni.inc"
#elif defined(__AVX2__)
#include "gemm/avx2.inc"
#else
enum { LANES = 16 };
#endif

#ifdef PRELUDE_EPILOGUE
typedef struct epilogue_params {
    int bound;
} epilogue_params;
void shift_tile(const epilogue_params *s, int pixels, int vectors, vec acc[16][4]);
vec bytes_of(const epilogue_params *s, vec low, vec high);
vec bounded(const epilogue_params *s, vec values);
int has_low_halves(const epilogue_params *s);
#endif

#ifdef PRELUDE_ENGINE
typedef int8_t element, input;
typedef struct epilogue_params {
    int bound;
} epilogue_params;
epilogue_params epilogue_from(const epilogue_params *all, int64_t v);
static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};
#if defined(__ARM_NEON) || defined(__AVX2__)
void epilogue_put(const epilogue_params *epilogue, element *out, int64_t next, int count,
                  int pixels, int vectors, vec acc[16][4]);
#else
void epilogue_put(const epilogue_params *epilogue, element *out, int32_t count, const int32_t *acc);
#endif
#if defined(__AVX512F__)
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_u8_s8(acc, values, weights);
}
#define TILE_DOT TILE_DOT_S8
#elif defined(PRELUDE_AVXVNNI)
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_u8_s8(acc, values, weights);
}
#elif defined(__ARM_NEON)
typedef int8_t pixel, weight;
enum { PER_STEP = 4, OFFSET = 0 };
static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s8(acc, values, weights);
}
#else
typedef int16_t pixel, weight;
enum { PER_STEP = 2, OFFSET = 0 };
#if defined(__AVX2__)
static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}
static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }
#endif
#endif
#endif

#ifdef PRELUDE_CELLS
typedef int8_t element;
typedef int16_t partial;
enum { MOST_CELLS = 256 };
#endif

#ifdef PRELUDE_DEPTHWISE
typedef int16_t value;
enum { ROWS = 2, DEPTHWISE_PIXELS = 2, DEPTHWISE_VECTORS = 2, HAS_COLUMNS = 1 };
vec dot(vec acc, vec values, vec weights);
vec dot_by(vec acc, vec lanes, const int32_t *weights);
void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t edge, int group,
                int32_t *lanes);
void weave(const int8_t *const row[4], int under, int group, vec lanes[2][2]);
#endif

#if defined(PRELUDE_Q) || defined(PRELUDE_S8) || defined(PRELUDE_S16) || defined(PRELUDE_NPU)
static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};
static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}
static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }
#endif

#if defined(PRELUDE_Q)
#include "q/convolve.h"
#include "q/epilogue_q7_avx2.inc"
#include "q/fully_connected.h"
typedef int8_t coefficient;
static const q_fc_order opt_order = Q_FC_Q7;
#elif defined(PRELUDE_S8)
#include "s/affine.h"
#include "s/convolve/transpose_conv.h"
#include "s/epilogue_avx2.inc"
typedef int8_t input;
#elif defined(PRELUDE_S16)
#include "s/affine.h"
#include "s/epilogue_s16_avx2.inc"
#elif defined(PRELUDE_NPU)
#include "wuqi/convolve.h"
#include "wuqi/epilogue_avx2.inc"
typedef int8_t input;
enum { LOWEST = INT8_MIN, HIGHEST = INT8_MAX };
#define plain n_convolve_s8_ref
#endif

#if defined(PRELUDE_Q) || defined(PRELUDE_S8) || defined(PRELUDE_NPU)
typedef int16_t pixel, weight;
enum { PER_STEP = 2, OFFSET = 0 };
#include "gemm/depthwise_avx2.inc"
#endif
#if defined(PRELUDE_Q) || defined(PRELUDE_S8) || defined(PRELUDE_S16) || defined(PRELUDE_NPU)
#include "gemm/tile.inc"
#endif

#endif
