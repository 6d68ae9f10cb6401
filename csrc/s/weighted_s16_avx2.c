/* Layers with weights of the s16 API on AVX2: 16 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_s16_avx2.inc"

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../gemm/tile.inc"

#include "wide_fast.inc"

static inline vec vec_low_pairs(vec a, vec b) { return _mm256_unpacklo_epi16(a, b); }
static inline vec vec_high_pairs(vec a, vec b) { return _mm256_unpackhi_epi16(a, b); }

#include "convolve/depthwise_s16_fast.inc"

#include "weighted_s16_rows.inc"

const qn_functions s_convolve_s16_avx2 = {convolve_s16_run, convolve_s16_scratch,
                                          convolve_s16_packed, convolve_s16_pack, qn_always_pays};

const qn_functions s_depthwise_s16_avx2 = {depthwise_s16_run, depthwise_s16_scratch,
                                           depthwise_s16_packed, depthwise_s16_pack,
                                           qn_always_pays};

const qn_functions s_fc_s16_avx2 = {fc_s16_run, fc_s16_scratch, fc_s16_packed, fc_s16_pack,
                                    qn_always_pays};

#include "../gemm/target_end.inc"

#endif
