/* Layers with weights of the s16 API in plain C that compilers make vectors of. */
#include "affine.h"

enum { LANES = 16 }; /* channels that go together */
#define FOLDS 1      /* the engine reads eight halfwords at a time */

#include "epilogue_s16_portable.inc"

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
