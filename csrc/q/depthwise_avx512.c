/* Depthwise convolution on AVX-512 VNNI: four kernel rows per instruction. */
#include "../gemm/traits.h"
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

enum { OFFSET = 128 };

static const gemm_traits traits = {.most_vectors = 4};

#include "epilogue_q7_avx512.inc"

#include "../gemm/depthwise_avx512.inc"

#include "depthwise_fast.inc"

const qn_functions q_depthwise_q7_avx512 = {depthwise_q7_run, depthwise_q7_scratch,
                                            depthwise_q7_packed, depthwise_q7_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
