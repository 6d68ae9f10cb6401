/* Sums of products of bytes, which convolve_s16_avx512.c asks for; see parts_fast.inc. */
#ifndef QN_NPU_HIGH_SUMS_H
#define QN_NPU_HIGH_SUMS_H

#include "../common/profiles.h"
#include "../gemm/shapes.h"

#if QN_HAS_X86
void n_high_sums_avx512(const gemm_shape *shape, const uint8_t *image, const int32_t *packed,
                        int32_t *sums);
#endif

#endif
