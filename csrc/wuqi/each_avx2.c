/* Elementwise layers and sums of the NPU on AVX2: 32 bytes at a time. */
#include "each.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

/* Widen the low or high half of each 128-bit lane. Packs restore the order. */
QN_INLINE __m256i low_8(__m256i x) { return _mm256_srai_epi16(_mm256_unpacklo_epi8(x, x), 8); }
QN_INLINE __m256i high_8(__m256i x) { return _mm256_srai_epi16(_mm256_unpackhi_epi8(x, x), 8); }
QN_INLINE __m256i low_16(__m256i x) { return _mm256_srai_epi32(_mm256_unpacklo_epi16(x, x), 16); }
QN_INLINE __m256i high_16(__m256i x) { return _mm256_srai_epi32(_mm256_unpackhi_epi16(x, x), 16); }

QN_INLINE __m256i positive_8(__m256i x, const void *k) {
    (void)k;
    return _mm256_max_epi8(x, _mm256_setzero_si256());
}
QN_INLINE __m256i positive_16(__m256i x, const void *k) {
    (void)k;
    return _mm256_max_epi16(x, _mm256_setzero_si256());
}

/* Return x * slope / 64 in 16-bit lanes. A product of 8-bit codes fits, as 128 * 255 < 2^15. */
QN_INLINE __m256i multiply_slope(__m256i x, __m256i slope) {
    return _mm256_srai_epi16(_mm256_mullo_epi16(x, slope), 6);
}
QN_INLINE __m256i relu_8(__m256i x, const void *k) {
    __m256i slope = _mm256_set1_epi16(*(const int16_t *)k);
    __m256i below =
        _mm256_packs_epi16(multiply_slope(low_8(x), slope), multiply_slope(high_8(x), slope));
    return _mm256_blendv_epi8(x, below, x);
}
QN_INLINE __m256i relu_16(__m256i x, const void *k) {
    __m256i slope = _mm256_set1_epi16(*(const int16_t *)k);
    __m256i low = _mm256_mullo_epi16(x, slope), high = _mm256_mulhi_epi16(x, slope);
    __m256i below = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_unpacklo_epi16(low, high), 6),
                                       _mm256_srai_epi32(_mm256_unpackhi_epi16(low, high), 6));
    return _mm256_blendv_epi8(x, below, _mm256_srai_epi16(x, 15));
}

int n_relu_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_each *p = params;
    int16_t slope = (int16_t)p->slope;
    each(slope ? relu_8 : positive_8, &slope, b->in[0], b->out, p->length);
    return QN_OK;
}

int n_relu_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_each *p = params;
    int16_t slope = (int16_t)p->slope;
    each(slope ? relu_16 : positive_16, &slope, b->in[0], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

QN_INLINE __m256i clip_8(__m256i x, const void *k) {
    return _mm256_min_epi8(positive_8(x, k), _mm256_set1_epi8(*(const int8_t *)k));
}
QN_INLINE __m256i clip_16(__m256i x, const void *k) {
    return _mm256_min_epi16(positive_16(x, k), _mm256_set1_epi16(*(const int16_t *)k));
}

int n_clip_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_each *p = params;
    int8_t high = p->high < INT8_MAX ? (int8_t)p->high : INT8_MAX;
    each(clip_8, &high, b->in[0], b->out, p->length);
    return QN_OK;
}

int n_clip_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_each *p = params;
    int16_t high = (int16_t)p->high;
    each(clip_16, &high, b->in[0], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

/* Add and shift. A shift of more bits than a lane has gives the sign, as required. */
QN_INLINE __m256i add_8(__m256i x, __m256i y, const void *k) {
    __m128i shift = _mm_cvtsi32_si128(*(const int32_t *)k);
    __m256i low = _mm256_add_epi16(low_8(x), low_8(y));
    __m256i high = _mm256_add_epi16(high_8(x), high_8(y));
    return _mm256_packs_epi16(_mm256_sra_epi16(low, shift), _mm256_sra_epi16(high, shift));
}
QN_INLINE __m256i add_16(__m256i x, __m256i y, const void *k) {
    __m128i shift = _mm_cvtsi32_si128(*(const int32_t *)k);
    __m256i low = _mm256_add_epi32(low_16(x), low_16(y));
    __m256i high = _mm256_add_epi32(high_16(x), high_16(y));
    return _mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
}

int n_add_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_add *p = params;
    each_pair(add_8, &p->shift, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int n_add_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_npu_add *p = params;
    each_pair(add_16, &p->shift, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
