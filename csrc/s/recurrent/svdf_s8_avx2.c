/* SVDF of the s8 API with a state of the type int8_t on AVX2. */
#include "svdf.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

#include "../requantize_avx2.inc"

typedef int8_t element;

static inline __m256i widened(const element *at, int64_t available) {
    return _mm256_cvtepi8_epi16(load_16(at, available));
}

#include "svdf_fast.inc"

const qn_functions s_svdf_s8_avx2 = {svdf_run, svdf_scratch, svdf_packed, svdf_pack,
                                     qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
