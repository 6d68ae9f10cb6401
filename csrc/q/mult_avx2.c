/* Products with a shift, on AVX2. */
#include "mult.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

/* The rounding term and the shift. logical: 5.6.0 with a rounding term shifts logically. */
typedef struct ending {
    int32_t round_term;
    __m128i shift;
    int logical;
} ending;

static ending ending_of(const qn_mult *p) {
    int is_560 = qn_release(p->profile) == QN_RELEASE_560;
    return (ending){
        .round_term = qn_round_term(p->profile, p->out_shift),
        .shift = _mm_cvtsi32_si128(p->out_shift),
        .logical = is_560 && qn_rounding(p->profile) == QN_NEAREST,
    };
}

QN_INLINE __m256i round_and_shift(__m256i products, const ending *k) {
    __m256i sums = _mm256_add_epi32(products, _mm256_set1_epi32(k->round_term));
    return k->logical ? _mm256_srl_epi32(sums, k->shift) : _mm256_sra_epi32(sums, k->shift);
}

/* Unpacking and packing both work within 128-bit lanes, so they keep the order. */
QN_INLINE __m256i mult_q15(__m256i x, __m256i y, const void *k) {
    __m256i low = _mm256_mullo_epi16(x, y), high = _mm256_mulhi_epi16(x, y);
    return _mm256_packs_epi32(round_and_shift(_mm256_unpacklo_epi16(low, high), k),
                              round_and_shift(_mm256_unpackhi_epi16(low, high), k));
}

/* Return products of q7 values as words: the high word of (2^8 x) * (2^8 y). */
QN_INLINE __m256i low_products(__m256i x, __m256i y) {
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_mulhi_epi16(_mm256_unpacklo_epi8(zero, x), _mm256_unpacklo_epi8(zero, y));
}

QN_INLINE __m256i high_products(__m256i x, __m256i y) {
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_mulhi_epi16(_mm256_unpackhi_epi8(zero, x), _mm256_unpackhi_epi8(zero, y));
}

/* Multiply as 5.9.0: it rounds in 16 bits, and wraps. */
QN_INLINE __m256i mult_q7(__m256i x, __m256i y, const void *k) {
    const ending *end = k;
    const __m256i round_term = _mm256_set1_epi16((short)end->round_term);
    __m256i low = _mm256_add_epi16(low_products(x, y), round_term);
    __m256i high = _mm256_add_epi16(high_products(x, y), round_term);
    return _mm256_packs_epi16(_mm256_sra_epi16(low, end->shift),
                              _mm256_sra_epi16(high, end->shift));
}

/* Multiply as 5.6.0: it rounds in 32 bits. */
QN_INLINE __m256i in_32_bits(__m256i words, const void *k) {
    __m256i sign = _mm256_srai_epi16(words, 15);
    return _mm256_packs_epi32(round_and_shift(_mm256_unpacklo_epi16(words, sign), k),
                              round_and_shift(_mm256_unpackhi_epi16(words, sign), k));
}

QN_INLINE __m256i mult_q7_560(__m256i x, __m256i y, const void *k) {
    return _mm256_packs_epi16(in_32_bits(low_products(x, y), k),
                              in_32_bits(high_products(x, y), k));
}

int q_nn_mult_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const ending end = ending_of(p);
    if (qn_release(p->profile) == QN_RELEASE_560) {
        each_pair(mult_q7_560, &end, b->in[0], b->in[1], b->out, p->length);
    } else {
        each_pair(mult_q7, &end, b->in[0], b->in[1], b->out, p->length);
    }
    return QN_OK;
}

int q_nn_mult_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const ending end = ending_of(p);
    each_pair(mult_q15, &end, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
