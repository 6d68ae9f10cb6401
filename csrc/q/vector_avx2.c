/* Saturating vector functions and the sum of a vector, on AVX2. */
#include "vector.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

QN_INLINE __m256i add_q7(__m256i x, __m256i y, const void *k) {
    (void)k;
    return _mm256_adds_epi8(x, y);
}

QN_INLINE __m256i add_q15(__m256i x, __m256i y, const void *k) {
    (void)k;
    return _mm256_adds_epi16(x, y);
}

QN_INLINE __m256i sub_q7(__m256i x, __m256i y, const void *k) {
    (void)k;
    return _mm256_subs_epi8(x, y);
}

QN_INLINE __m256i sub_q15(__m256i x, __m256i y, const void *k) {
    (void)k;
    return _mm256_subs_epi16(x, y);
}

/* Multiply q7 values. A product fits 16 bits. Unpacking and packing both work within 128-bit lanes,
 * so they keep the order. */
QN_INLINE __m256i mult_q7(__m256i x, __m256i y, const void *k) {
    (void)k;
    const __m256i zero = _mm256_setzero_si256();
    /* With the values in the high bytes, the high word of (2^8 x) * (2^8 y) is x * y. */
    __m256i low = _mm256_mulhi_epi16(_mm256_unpacklo_epi8(zero, x), _mm256_unpacklo_epi8(zero, y));
    __m256i high = _mm256_mulhi_epi16(_mm256_unpackhi_epi8(zero, x), _mm256_unpackhi_epi8(zero, y));
    return _mm256_packs_epi16(_mm256_srai_epi16(low, 7), _mm256_srai_epi16(high, 7));
}

/* Multiply q15 values. (x * y) >> 15 is twice the high word of the product plus the top bit of its
 * low word. Only -1 * -1 = 2^15 does not fit: it gives -2^15, and no other product does. */
QN_INLINE __m256i mult_q15(__m256i x, __m256i y, const void *k) {
    (void)k;
    __m256i low = _mm256_mullo_epi16(x, y), high = _mm256_mulhi_epi16(x, y);
    __m256i both = _mm256_or_si256(_mm256_slli_epi16(high, 1), _mm256_srli_epi16(low, 15));
    __m256i wrapped = _mm256_cmpeq_epi16(both, _mm256_set1_epi16(INT16_MIN));
    return _mm256_xor_si256(both, wrapped); /* -2^15 with all bits inverted: 2^15 - 1 */
}

int q_add_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(add_q7, NULL, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int q_add_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(add_q15, NULL, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

int q_sub_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(sub_q7, NULL, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int q_sub_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(sub_q15, NULL, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

int q_mult_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(mult_q7, NULL, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int q_mult_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    each_pair(mult_q15, NULL, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

QN_INLINE __m256i offset_q7(__m256i x, const void *k) {
    return _mm256_adds_epi8(x, *(const __m256i *)k);
}

QN_INLINE __m256i offset_q15(__m256i x, const void *k) {
    return _mm256_adds_epi16(x, *(const __m256i *)k);
}

int q_offset_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const __m256i offset = _mm256_set1_epi8((char)p->offset);
    each(offset_q7, &offset, b->in[0], b->out, p->length);
    return QN_OK;
}

int q_offset_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const __m256i offset = _mm256_set1_epi16((short)p->offset);
    each(offset_q15, &offset, b->in[0], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

/* VPSADBW sums unsigned bytes, so each byte is its value plus 128. */
int q_nn_add_q7_q31_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const char *in = b->in[0];
    const __m256i more = _mm256_set1_epi8(INT8_MIN), zero = _mm256_setzero_si256();
    __m256i sums = zero;
    int64_t i = 0;
    for (; i < p->length; i += 32) {
        __m256i bytes = _mm256_xor_si256(load_32(in + i, p->length - i), more);
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(bytes, zero));
    }
    int64_t sum[4];
    _mm256_storeu_si256((__m256i *)sum, sums);
    *(int32_t *)b->out = qn_wrap32((uint32_t)(sum[0] + sum[1] + sum[2] + sum[3] - 128 * i));
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
