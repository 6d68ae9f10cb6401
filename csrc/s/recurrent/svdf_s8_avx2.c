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

int s_svdf_s8_avx2(const void *params, const qn_buffers *b) { return svdf_run(params, b); }

int64_t s_svdf_s8_avx2_scratch(const void *params) { return svdf_scratch(params); }

int64_t s_svdf_s8_avx2_packed(const void *params) { return svdf_packed(params); }

void s_svdf_s8_avx2_pack(const void *params, const void *weights, const void *bias, void *packed) {
    (void)bias;
    svdf_pack(params, weights, packed);
}

#include "../../gemm/target_end.inc"

#endif
