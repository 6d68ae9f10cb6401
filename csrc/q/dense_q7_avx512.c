/* q7 convolutions and fully connected layers on AVX-512 VNNI: bytes, 64 products per
 * instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/avx512vnni.inc"

#include "epilogue_q7_avx512.inc"

typedef int8_t coefficient;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
static const q_fc_order opt_order = Q_FC_Q7;

static const gemm_traits traits = {.most_vectors = 4, .split_k = 2, .packs_pixels = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_u8_s8(acc, values, weights);
}

#include "../gemm/tile.inc"

#include "convolve_fast.inc"
#include "fully_connected_fast.inc"

const qn_functions q_convolve_q7_avx512 = {convolve_run, scratch_padded, convolve_packed,
                                           convolve_pack, qn_always_pays};

const qn_functions q_convolve_fast_q7_avx512 = {convolve_run, scratch_regular, convolve_packed,
                                                convolve_pack, qn_always_pays};

const qn_functions q_fc_q7_avx512 = {fc_run, fc_scratch, fc_packed, fc_pack, qn_always_pays};

const qn_functions q_fc_opt_q7_avx512 = {fc_run, fc_scratch, fc_packed, fc_pack_opt,
                                         qn_always_pays};

#include "../gemm/target_end.inc"

#endif
