/* Fully connected layers of q7 weights and q15 vectors on AVX2: weights widened at plan time, 16
 * products per instruction. */
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_q15_avx2.inc"

typedef int8_t coefficient;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
static const q_fc_order opt_order = Q_FC_Q7_Q15;

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../gemm/tile.inc"

#include "fully_connected_fast.inc"

const qn_functions q_fc_q7_q15_avx2 = {fc_run, fc_scratch, fc_packed, fc_pack, qn_always_pays};

const qn_functions q_fc_opt_q7_q15_avx2 = {fc_run, fc_scratch, fc_packed, fc_pack_opt,
                                           qn_always_pays};

#include "../gemm/target_end.inc"

#endif
