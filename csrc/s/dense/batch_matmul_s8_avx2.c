/* Products of matrices of the s8 API on AVX2. */
#include "batch_matmul.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/avx2.inc"

#include "../epilogue_avx2.inc"

/* All vectors of columns have one epilogue, packed once for a micro-tile. */
#define epilogue_from(epilogue, v) ((void)(v), *(epilogue))

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../../gemm/tile.inc"

#include "batch_matmul_fast.inc"

const qn_functions s_batch_matmul_s8_avx2 = {product_run, product_scratch, product_packed,
                                             product_pack, qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
