/* Rectifiers on AVX2. */
#include "relu.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

QN_INLINE __m256i relu_q7(__m256i x, const void *k) {
    (void)k;
    return _mm256_max_epi8(x, _mm256_setzero_si256());
}

QN_INLINE __m256i relu_q15(__m256i x, const void *k) {
    (void)k;
    return _mm256_max_epi16(x, _mm256_setzero_si256());
}

QN_INLINE __m256i relu6(__m256i x, const void *k) {
    return _mm256_min_epi8(relu_q7(x, k), _mm256_set1_epi8(6));
}

int q_relu_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each(relu_q7, NULL, b->in[0], b->out, p->length);
    return QN_OK;
}

int q_relu_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each(relu_q15, NULL, b->in[0], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

int q_relu6_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each(relu6, NULL, b->in[0], b->out, p->length);
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
