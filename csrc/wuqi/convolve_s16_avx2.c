/* Convolutions of 16 bits on AVX2. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "sums_avx2.inc"

#include "convolve_s16_fast.inc"

const qn_functions n_convolve_s16_avx2 = {convolve_run, convolve_scratch, convolve_packed,
                                          convolve_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
