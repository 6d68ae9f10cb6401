/* Layers with weights of the s16 API in plain C that compilers make vectors of. */
#include "../gemm/traits.h"
#include "affine.h"

enum { LANES = 16 }; /* channels that go together */

#include "epilogue_s16_portable.inc"

/* The engine reads eight halfwords at a time. */
static const gemm_traits traits = {.most_vectors = 1, .split_k = 4};

#include "../gemm/portable.inc"

#include "wide_fast.inc"

#include "convolve/depthwise_s16_portable.inc"

#include "weighted_s16_rows.inc"

const qn_functions s_convolve_s16_portable = {
    convolve_s16_run, convolve_s16_scratch, convolve_s16_packed, convolve_s16_pack, qn_always_pays};

const qn_functions s_depthwise_s16_portable = {depthwise_s16_run, depthwise_s16_scratch,
                                               depthwise_s16_packed, depthwise_s16_pack,
                                               qn_always_pays};

const qn_functions s_fc_s16_portable = {fc_s16_run, fc_s16_scratch, fc_s16_packed, fc_s16_pack,
                                        qn_always_pays};
