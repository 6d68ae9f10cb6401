/* Layers with weights of the s8 API on AVX2: bytes widened to halfwords, 16 products an instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_avx2.inc"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
#define vec_dot vec_dot_s16
#define NARROWS 1

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

#define ROW(layer, part) s_##layer##_avx2##part

#include "../gemm/strips_avx2.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

#include "../gemm/target_end.inc"

#endif
