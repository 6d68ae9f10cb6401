/* q7 convolutions and fully connected layers on Neon with dot products: bytes, 16 products an
 * instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_ARM64

#include "../gemm/target_neon.h"

#include "../gemm/neon.h"

#include "stage_q7_neon.h"

typedef int8_t coefficient;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };
#define vec_dot vec_dot_s8
#define OPT_ORDER Q_FC_Q7

#include "../gemm/tile.h"

#include "convolve_fast.h"
#include "fully_connected_fast.h"

int q_convolve_q7_neon(const void *params, const qn_buffers *b) { return convolve(params, b); }

int64_t q_convolve_q7_neon_padded(const void *params) { return scratch_padded(params); }

int64_t q_convolve_q7_neon_regular(const void *params) { return scratch_regular(params); }

int64_t q_convolve_q7_neon_packed(const void *params) { return packed_bytes(params); }

void q_convolve_q7_neon_pack(const void *params, const void *weights, const void *bias,
                             void *packed) {
    pack_convolution(params, weights, bias, packed);
}

int q_fc_q7_neon(const void *params, const qn_buffers *b) { return fc_run(params, b); }

int64_t q_fc_q7_neon_scratch(const void *params) { return fc_scratch(params); }

int64_t q_fc_q7_neon_packed(const void *params) { return fc_packed(params); }

void q_fc_q7_neon_pack(const void *params, const void *weights, const void *bias, void *packed) {
    fc_pack(params, weights, bias, 0, packed);
}

void q_fc_q7_neon_pack_opt(const void *params, const void *weights, const void *bias,
                           void *packed) {
    fc_pack(params, weights, bias, 1, packed);
}

#include "../gemm/target_end.h"

#endif
