/* q15 convolutions and fully connected layers on AVX2: halfwords, 16 products an instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

#include "../gemm/avx2.h"

#include "stage_q15_avx2.h"

typedef int16_t coefficient;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
#define vec_dot vec_dot_s16
#define OPT_ORDER Q_FC_Q15

#include "../gemm/tile.h"

#include "convolve_fast.h"
#include "fully_connected_fast.h"

int q_convolve_q15_avx2(const void *params, const qn_buffers *b) { return convolve(params, b); }

int64_t q_convolve_q15_avx2_padded(const void *params) { return scratch_padded(params); }

int64_t q_convolve_q15_avx2_packed(const void *params) { return packed_bytes(params); }

void q_convolve_q15_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    pack_convolution(params, weights, bias, packed);
}

int q_fc_q15_avx2(const void *params, const qn_buffers *b) { return fc_run(params, b); }

int64_t q_fc_q15_avx2_scratch(const void *params) { return fc_scratch(params); }

int64_t q_fc_q15_avx2_packed(const void *params) { return fc_packed(params); }

void q_fc_q15_avx2_pack(const void *params, const void *weights, const void *bias, void *packed) {
    fc_pack(params, weights, bias, 0, packed);
}

void q_fc_q15_avx2_pack_opt(const void *params, const void *weights, const void *bias,
                            void *packed) {
    fc_pack(params, weights, bias, 1, packed);
}

#include "../gemm/target_end.h"

#endif
