/* Convolutions of 16 bits on AVX2. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

#include "../gemm/avx2.h"

#define vec_dot vec_dot_s16

#include "convolve_s16_fast.h"

int n_convolve_s16_avx2(const void *params, const qn_buffers *b) { return convolve_run(params, b); }

int64_t n_convolve_s16_avx2_scratch(const void *params) { return convolve_scratch(params); }

int64_t n_convolve_s16_avx2_packed(const void *params) { return convolve_packed(params); }

void n_convolve_s16_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    (void)bias; /* read where the sums are added up */
    convolve_pack(params, weights, packed);
}

#include "../gemm/target_end.h"

#endif
