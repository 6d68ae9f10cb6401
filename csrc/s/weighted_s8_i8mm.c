/* Layers with weights of the s8 API on Neon's products of matrices: bytes, 32 products an
 * instruction. */
#include "affine.h"

#if QN_HAS_ARM64

#include "../gemm/target_i8mm.inc"

#include "../gemm/neon.inc"

#include "epilogue_neon.inc"

typedef int8_t input;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};

#include "../gemm/depthwise_neon.inc"

#include "../gemm/pairs_tile.inc"

#include "weighted_fast.inc"

#include "weighted_s8_rows.inc"

/* Depthwise layers are faster on the depthwise engine, and single pixels as GEMV. */
static int64_t scratch_in_pairs(const s_layer *l, int64_t scratch) {
    depthwise_shape depthwise;
    return uses_depthwise_engine(&l->image, &depthwise) || shape_of(&l->image).columns < 2
               ? QN_NOT_TAKEN
               : scratch;
}

static int64_t convolve_pairs_scratch(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return scratch_in_pairs(&layer, convolve_s8_scratch(params));
}

static int64_t fc_pairs_scratch(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return scratch_in_pairs(&layer, fc_s8_scratch(params));
}

const qn_functions s_convolve_s8_i8mm = {convolve_s8_run, convolve_pairs_scratch,
                                         convolve_s8_packed, convolve_s8_pack, qn_always_pays};

const qn_functions s_fc_s8_i8mm = {fc_s8_run, fc_pairs_scratch, fc_s8_packed, fc_s8_pack,
                                   qn_always_pays};

const qn_functions s_fc_per_channel_s8_i8mm = {fc_s8_run, fc_pairs_scratch, fc_s8_packed,
                                               fc_per_channel_s8_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
