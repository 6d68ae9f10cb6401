/* Layers with weights of the s8 API on AVX2: bytes widened to halfwords, 16 products an
 * instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_avx2.inc"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

static const gemm_traits traits = {
    .most_vectors = 2, .split_k = 1, .packs_pixels = 1, .narrow_weights = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../gemm/depthwise_avx2.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

const qn_functions s_convolve_s8_avx2 = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                         convolve_s8_pack, qn_always_pays};

const qn_functions s_convolve_s4_avx2 = {convolve_s8_run, convolve_s8_scratch, convolve_s8_packed,
                                         convolve_s4_pack, qn_always_pays};

const qn_functions s_transpose_conv_s8_avx2 = {transpose_conv_s8_run, transpose_conv_s8_scratch,
                                               transpose_conv_s8_packed, transpose_conv_s8_pack,
                                               qn_always_pays};

const qn_functions s_depthwise_s8_avx2 = {depthwise_s8_run, depthwise_s8_scratch,
                                          depthwise_s8_packed, depthwise_s8_pack, qn_always_pays};

const qn_functions s_depthwise_s4_avx2 = {depthwise_s4_run, depthwise_s4_scratch,
                                          depthwise_s8_packed, depthwise_s4_pack, qn_always_pays};

const qn_functions s_fc_s8_avx2 = {fc_s8_run, fc_s8_scratch, fc_s8_packed, fc_s8_pack,
                                   qn_always_pays};

const qn_functions s_fc_per_channel_s8_avx2 = {fc_s8_run, fc_s8_scratch, fc_s8_packed,
                                               fc_per_channel_s8_pack, qn_always_pays};

const qn_functions s_fc_s4_avx2 = {fc_s8_run, fc_s4_scratch, fc_s8_packed, fc_s4_pack,
                                   qn_always_pays};

#include "../gemm/target_end.inc"

#endif
