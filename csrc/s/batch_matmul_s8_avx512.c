/* Products of matrices of the s8 API on AVX-512 VNNI. */
#include "batch_matmul.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

#include "../gemm/avx512vnni.h"

/* The right operand is laid out in one order. */
#undef FOLDS
#define FOLDS 0

#include "stage_avx512.h"

/* All vectors of columns have the same last step. */
#undef STAGE_FROM
#define STAGE_FROM(last, v) (*(last))

#define vec_dot vec_dot_s16

#include "../gemm/tile.h"

#include "batch_matmul_fast.h"

int s_batch_matmul_s8_avx512(const void *params, const qn_buffers *b) {
    return product_run(params, b);
}

int64_t s_batch_matmul_s8_avx512_scratch(const void *params) { return product_scratch(params); }

int64_t s_batch_matmul_s8_avx512_packed(const void *params) {
    (void)params;
    return product_packed();
}

void s_batch_matmul_s8_avx512_pack(const void *params, const void *weights, const void *bias,
                                   void *packed) {
    (void)weights, (void)bias;
    product_pack(params, packed);
}

#include "../gemm/target_end.h"

#endif
