/* Layers with weights of the s8 API on Neon's products of matrices: bytes, 32 products an instruction. */
#include "affine.h"

#if QN_HAS_ARM64

#include "../gemm/target_i8mm.inc"

#define MOST_VECTORS 2
#include "../gemm/neon.inc"

#include "epilogue_neon.inc"

typedef int8_t input;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };

#define ROW(layer, part) s_##layer##_i8mm##part

#include "../gemm/strips_neon.inc"

#include "../gemm/pairs_tile.inc"

#include "weighted_fast.inc"

#include "weighted_s8_rows.inc"

/* Depthwise channels are faster in strips, pixels that are alone one by one. */
static int64_t scratch_in_pairs(const s_layer *l, int64_t scratch) {
    strips_shape strips;
    return goes_in_strips(&l->image, &strips) || shape_of(&l->image).columns < 2 ? QN_NOT_TAKEN
                                                                                 : scratch;
}

int64_t ROW(convolve_s8, _scratch)(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return scratch_in_pairs(&layer, convolve_scratch(params));
}

int64_t ROW(fc_s8, _scratch)(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return scratch_in_pairs(&layer, dense_scratch(params));
}

#include "../gemm/target_end.inc"

#endif
