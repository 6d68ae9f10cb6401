/* Sums of products of float on AVX2. */
#include "ordered.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#define REAL float
#define BYTES 32
#define ORDERED qn_ordered_f32_avx2
#include "ordered.inc"

#include "../gemm/target_end.inc"

#endif
