/* Depthwise convolution on AVX-512 VNNI: four kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

enum { OFFSET = 128 };

#include "epilogue_q7_avx512.inc"

#include "../gemm/strips_avx512.inc"

#define ROW(part) q_depthwise_q7_avx512##part

#include "depthwise_fast.inc"

#include "../gemm/target_end.inc"

#endif
