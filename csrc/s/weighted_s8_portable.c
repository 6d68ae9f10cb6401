/* Layers with weights of the s8 API in plain C that compilers make vectors of: bytes widened to
 * halfwords. */
#include "affine.h"
#include "convolve/transpose_conv.h"

enum { LANES = 16 }; /* channels that go together */

#include "epilogue_portable.inc"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };

#define ROW(layer, part) s_##layer##_portable##part

#include "../gemm/portable.inc"
#include "../gemm/strips_portable.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"
