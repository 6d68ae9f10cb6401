/* SVDF of the s8 API with a state of the type int16_t on AVX2. */
#include "svdf.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

#include "../requantize_avx2.inc"

typedef int16_t element;

static inline __m256i widened(const element *at, int64_t available) {
    return load_32(at, 2 * available);
}

#include "svdf_fast.inc"

const qn_functions s_svdf_s16_s8_avx2 = {svdf_run, svdf_scratch, svdf_packed, svdf_pack,
                                         qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
