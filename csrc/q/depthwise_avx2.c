/* Depthwise convolution on AVX2: two kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

enum { OFFSET = 0 };

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

#include "stage_q7_avx2.h"

#include "../gemm/strips_avx2.h"

#include "depthwise_fast.h"

int q_depthwise_q7_avx2(const void *params, const qn_buffers *b) {
    return depthwise_run(params, b);
}

int64_t q_depthwise_q7_avx2_strips(const void *params) { return depthwise_scratch(params); }

int64_t q_depthwise_q7_avx2_packed(const void *params) { return depthwise_packed(params); }

void q_depthwise_q7_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    depthwise_pack(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
