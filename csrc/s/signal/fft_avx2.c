/* Spectra of 16 bits on AVX2: the same loops. */
#include "fft_fast.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "fft_fast.inc"

const qn_functions s_signal_rfft_s16_avx2 = {rfft_run, s_fft_scratch, s_fft_packed, s_fft_pack,
                                             qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
