/* Layers with weights of the s8 API on Neon with dot products: bytes, 16 products an instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_ARM64

#include "../gemm/target_neon.inc"

#include "../gemm/neon.inc"

#include "epilogue_neon.inc"

typedef int8_t input;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };
#define vec_dot vec_dot_s8

#define ROW(layer, part) s_##layer##_neon##part

#include "../gemm/strips_neon.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

#include "../gemm/target_end.inc"

#endif
