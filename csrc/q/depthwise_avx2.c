/* Depthwise convolution on AVX2: two kernel rows per instruction. */
#include "../gemm/traits.h"
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

enum { OFFSET = 0 };

static const gemm_traits traits = {.most_vectors = 2};

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

#include "epilogue_q7_avx2.inc"

#include "../gemm/depthwise_avx2.inc"

#include "depthwise_fast.inc"

const qn_functions q_depthwise_q7_avx2 = {depthwise_q7_run, depthwise_q7_scratch,
                                          depthwise_q7_packed, depthwise_q7_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
