/* q7 convolutions and fully connected layers on Neon with dot products: bytes, 16 products per
 * instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_ARM64

#include "../gemm/target_neon.inc"

#include "../gemm/neon.inc"

#include "epilogue_q7_neon.inc"

typedef int8_t coefficient;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };
static const q_fc_order opt_order = Q_FC_Q7;

static const gemm_traits traits = {.most_vectors = 4, .split_k = 1, .packs_pixels = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s8(acc, values, weights);
}

#include "../gemm/tile.inc"

#include "convolve_fast.inc"
#include "fully_connected_fast.inc"

const qn_functions q_convolve_q7_neon = {convolve_run, scratch_padded, convolve_packed,
                                         convolve_pack, qn_always_pays};

const qn_functions q_convolve_fast_q7_neon = {convolve_run, scratch_regular, convolve_packed,
                                              convolve_pack, qn_always_pays};

const qn_functions q_fc_q7_neon = {fc_run, fc_scratch, fc_packed, fc_pack, qn_always_pays};

const qn_functions q_fc_opt_q7_neon = {fc_run, fc_scratch, fc_packed, fc_pack_opt, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
