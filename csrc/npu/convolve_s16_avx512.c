/* Convolutions of 16 bits on AVX-512 VNNI. */
#include "convolve.h"
#include "high_sums.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

/* Two vectors of channels go in tiles of their own, see sums_tile.inc. */
#define FOLDS 1
#define MOST_VECTORS 1

#include "../gemm/avx512vnni.inc"

#include "sums_avx512.inc"

#define vec_dot vec_dot_s16
#define high_sums n_high_sums_avx512
#define ROW(part) n_convolve_s16_avx512##part

#include "convolve_s16_fast.inc"

/* Vectors half as long waste fewer lanes on few channels. */
int32_t ROW(_traits)(const void *params) {
    const qn_npu_conv *p = params;
    return each_alone(p) || p->out_c / p->group > 8;
}

#include "../gemm/target_end.inc"

#endif
