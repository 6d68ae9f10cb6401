/* Layers with weights of the s8 API in plain C that compilers make vectors of: bytes widened to
 * halfwords. */
#include "../gemm/traits.h"
#include "affine.h"
#include "convolve/transpose_conv.h"

enum { LANES = 16 }; /* channels that go together */

#include "epilogue_portable.inc"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };

static const gemm_traits traits = {.most_vectors = 1, .split_k = 1};

#include "../gemm/depthwise_portable.inc"
#include "../gemm/portable.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

const qn_functions s_convolve_s8_portable = {convolve_s8_run, convolve_s8_scratch,
                                             convolve_s8_packed, convolve_s8_pack, qn_always_pays};

const qn_functions s_convolve_s4_portable = {convolve_s8_run, convolve_s8_scratch,
                                             convolve_s8_packed, convolve_s4_pack, qn_always_pays};

const qn_functions s_transpose_conv_s8_portable = {transpose_conv_s8_run, transpose_conv_s8_scratch,
                                                   transpose_conv_s8_packed, transpose_conv_s8_pack,
                                                   qn_always_pays};

const qn_functions s_depthwise_s8_portable = {
    depthwise_s8_run, depthwise_s8_scratch, depthwise_s8_packed, depthwise_s8_pack, qn_always_pays};

const qn_functions s_depthwise_s4_portable = {
    depthwise_s4_run, depthwise_s4_scratch, depthwise_s8_packed, depthwise_s4_pack, qn_always_pays};

const qn_functions s_fc_s8_portable = {fc_s8_run, fc_s8_scratch, fc_s8_packed, fc_s8_pack,
                                       qn_always_pays};

const qn_functions s_fc_per_channel_s8_portable = {fc_s8_run, fc_s8_scratch, fc_s8_packed,
                                                   fc_per_channel_s8_pack, qn_always_pays};

const qn_functions s_fc_s4_portable = {fc_s8_run, fc_s4_scratch, fc_s8_packed, fc_s4_pack,
                                       qn_always_pays};
