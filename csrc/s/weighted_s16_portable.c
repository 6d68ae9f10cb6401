/* Layers with weights of the s16 API in plain C that compilers make vectors of. */
#include "affine.h"

enum { LANES = 16 }; /* channels that go together */
#define FOLDS 1      /* the engine reads eight halfwords at a time */

#include "epilogue_s16_portable.inc"

#include "../gemm/portable.inc"

#include "wide_fast.inc"

#include "convolve/depthwise_s16_portable.inc"

#define ROW(layer, part) s_##layer##_portable##part

#include "weighted_s16_rows.inc"
