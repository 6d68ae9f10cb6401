/* q15 convolutions and fully connected layers on AVX2: halfwords, 16 products per instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_q15_avx2.inc"

typedef int16_t coefficient;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
static const q_fc_order opt_order = Q_FC_Q15;

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1, .packs_pixels = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../gemm/tile.inc"

#include "convolve_fast.inc"
#include "fully_connected_fast.inc"

const qn_functions q_convolve_q15_avx2 = {convolve_run, scratch_padded, convolve_packed,
                                          convolve_pack, qn_always_pays};

const qn_functions q_fc_q15_avx2 = {fc_run, fc_scratch, fc_packed, fc_pack, qn_always_pays};

const qn_functions q_fc_opt_q15_avx2 = {fc_run, fc_scratch, fc_packed, fc_pack_opt, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
