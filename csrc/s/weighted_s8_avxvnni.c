/* Layers with weights of the s8 API on AVX-VNNI: 32 products an instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avxvnni.inc"

#include "epilogue_avx2.inc"

typedef int8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
#define vec_dot vec_dot_u8_s8

#define ROW(layer, part) s_##layer##_avxvnni##part

#include "../gemm/strips_avxvnni.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

#include "../gemm/target_end.inc"

#endif
