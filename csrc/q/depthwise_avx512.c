/* Depthwise convolution on AVX-512 VNNI: four kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

enum { OFFSET = 128 };

#include "stage_q7_avx512.h"

#include "../gemm/strips_avx512.h"

#include "depthwise_fast.h"

int q_depthwise_q7_avx512(const void *params, const qn_buffers *b) {
    return depthwise_run(params, b);
}

int64_t q_depthwise_q7_avx512_strips(const void *params) { return depthwise_scratch(params); }

int64_t q_depthwise_q7_avx512_packed(const void *params) { return depthwise_packed(params); }

void q_depthwise_q7_avx512_pack(const void *params, const void *weights, const void *bias,
                                void *packed) {
    depthwise_pack(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
