/* Convolutions of 16 bits on AVX2. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "sums_avx2.inc"

#define ROW(part) n_convolve_s16_avx2##part

#include "convolve_s16_fast.inc"

#include "../gemm/target_end.inc"

#endif
