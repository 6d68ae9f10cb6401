/* Layers with weights of the s8 API on Neon with dot products: bytes, 16 products an instruction.
 * */
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

static const gemm_traits traits = {.most_vectors = 4, .split_k = 1, .packs_pixels = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s8(acc, values, weights);
}

#include "../gemm/depthwise_neon.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

const qn_functions s_convolve_s8_neon = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                         convolve_s8_pack, qn_always_pays};

const qn_functions s_convolve_s4_neon = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                         convolve_s4_pack, qn_always_pays};

const qn_functions s_transpose_conv_s8_neon = {transpose_conv_s8_run, transpose_conv_s8_scratch,
                                               transpose_conv_s8_packed, transpose_conv_s8_pack,
                                               qn_always_pays};

const qn_functions s_depthwise_s8_neon = {depthwise_s8_run, depthwise_s8_scratch,
                                          depthwise_s8_packed, depthwise_s8_pack, qn_always_pays};

const qn_functions s_depthwise_s4_neon = {depthwise_s4_run, depthwise_s4_scratch,
                                          depthwise_s8_packed, depthwise_s4_pack, qn_always_pays};

const qn_functions s_fc_s8_neon = {fc_s8_run, fc_s8_scratch, fc_s8_packed, fc_s8_pack,
                                   qn_always_pays};

const qn_functions s_fc_per_channel_s8_neon = {fc_s8_run, fc_s8_scratch, fc_s8_packed,
                                               fc_per_channel_s8_pack, qn_always_pays};

const qn_functions s_fc_s4_neon = {fc_s8_run, fc_s4_scratch, fc_s8_packed, fc_s4_pack,
                                   qn_always_pays};

#include "../gemm/target_end.inc"

#endif
