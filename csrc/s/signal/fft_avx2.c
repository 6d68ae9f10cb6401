/* Spectra of 16 bits on AVX2: the same loops. */
#include "fft_fast.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#define ROW(name) name##_avx2
#include "fft_fast.inc"

#include "../../gemm/target_end.inc"

#endif
