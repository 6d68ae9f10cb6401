/* The sums of the high bytes of 16-bit convolutions on AVX-512 VNNI: 64 products an instruction. */
#include "high_sums.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

/* Two vectors of channels go in tiles of their own, see sums_tile.inc. */
#define FOLDS 1
#define MOST_VECTORS 1

#include "../gemm/avx512vnni.inc"

#include "raw_sums.inc"

#define vec_dot vec_dot_u8_s8

#include "../gemm/tile.inc"

void n_high_sums_avx512(const gemm_shape *shape, const uint8_t *image, const int32_t *packed,
                        int32_t *sums) {
    const epilogue last = 0;
    gemm_run(shape, image, packed, sums, &last);
}

#include "../gemm/target_end.inc"

#endif
