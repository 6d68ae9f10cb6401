/* Layers with weights of the s16 API on AVX2: 16 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_s16_avx2.inc"

#define vec_dot vec_dot_s16

#include "../gemm/tile.inc"

#include "wide_fast.inc"

static inline vec vec_low_pairs(vec a, vec b) { return _mm256_unpacklo_epi16(a, b); }
static inline vec vec_high_pairs(vec a, vec b) { return _mm256_unpackhi_epi16(a, b); }

#include "convolve/depthwise_s16_fast.inc"

#define ROW(layer, part) s_##layer##_avx2##part

#include "weighted_s16_rows.inc"

#include "../gemm/target_end.inc"

#endif
