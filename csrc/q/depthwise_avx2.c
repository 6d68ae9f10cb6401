/* Depthwise convolution on AVX2: two kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

enum { OFFSET = 0 };

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

#include "epilogue_q7_avx2.inc"

#include "../gemm/strips_avx2.inc"

#define ROW(part) q_depthwise_q7_avx2##part

#include "depthwise_fast.inc"

#include "../gemm/target_end.inc"

#endif
