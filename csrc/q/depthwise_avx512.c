/* Depthwise convolution on AVX-512 VNNI: four kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

enum { OFFSET = 128 };

#include "stage_q7_avx512.h"

#include "../gemm/strips_avx512.h"

#define ROW(part) q_depthwise_q7_avx512##part

#include "depthwise_fast.h"

#include "../gemm/target_end.h"

#endif
