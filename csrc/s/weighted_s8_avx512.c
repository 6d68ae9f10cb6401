/* Layers with weights of the s8 API on AVX-512 VNNI: 64 products an instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/avx512vnni.inc"

#include "epilogue_avx512.inc"

typedef int8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };

static const gemm_traits traits = {.most_vectors = 4, .split_k = 2, .packs_pixels = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_u8_s8(acc, values, weights);
}

#include "../gemm/depthwise_avx512.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

/* Plain rows compute sums in lanes. */
static int32_t layer_traits(const s_layer *l) {
    const int32_t profile = l->epilogue.profile;
    const int lanes = qn_path(profile) == QN_PATH_MVE && qn_rounding(profile) == QN_SINGLE;
    const int32_t sign_flipped =
        QN_SIGN_FLIPPED_OUT | (reads_sign_flipped(l) ? QN_SIGN_FLIPPED_IN : 0);
    return QN_PAYS | (lanes ? 0 : sign_flipped);
}

static int32_t convolve_s8_traits(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_traits(&layer);
}

static int32_t depthwise_s8_traits(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_traits(&layer);
}

static int32_t fc_s8_traits(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return layer_traits(&layer);
}

const qn_functions s_convolve_s8_avx512 = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                           convolve_s8_pack, convolve_s8_traits};

const qn_functions s_convolve_s4_avx512 = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                           convolve_s4_pack, convolve_s8_traits};

const qn_functions s_transpose_conv_s8_avx512 = {transpose_conv_s8_run, transpose_conv_s8_scratch,
                                                 transpose_conv_s8_packed, transpose_conv_s8_pack,
                                                 qn_always_pays};

const qn_functions s_depthwise_s8_avx512 = {depthwise_s8_run, depthwise_s8_scratch,
                                            depthwise_s8_packed, depthwise_s8_pack,
                                            depthwise_s8_traits};

const qn_functions s_depthwise_s4_avx512 = {depthwise_s4_run, depthwise_s4_scratch,
                                            depthwise_s8_packed, depthwise_s4_pack,
                                            depthwise_s8_traits};

const qn_functions s_fc_s8_avx512 = {fc_s8_run, fc_s8_scratch, fc_s8_packed, fc_s8_pack,
                                     fc_s8_traits};

const qn_functions s_fc_per_channel_s8_avx512 = {fc_s8_run, fc_s8_scratch, fc_s8_packed,
                                                 fc_per_channel_s8_pack, fc_s8_traits};

const qn_functions s_fc_s4_avx512 = {fc_s8_run, fc_s4_scratch, fc_s8_packed, fc_s4_pack,
                                     fc_s8_traits};

#include "../gemm/target_end.inc"

#endif
