/* Sums, differences and products of two vectors on AVX2, except for the s8 ones with rows of their
 * own, and PRELU: 8 elements at a time, by either rounding and any pair. */
#include "elementwise.h"
#include "prelu.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "exact_avx2.inc"

/* In place or not, here and below. minus: a difference. */
static inline int combine(const qn_s_add *p, const qn_buffers *b, element_type type, int minus) {
    const int wide = type == S16; /* which has no offsets */
    const exact x_scale = exact_of(p->profile, p->input_1_mult, p->input_1_shift);
    const exact y_scale = exact_of(p->profile, p->input_2_mult, p->input_2_shift);
    const exact out_scale = exact_of(p->profile, p->out_mult, p->out_shift);
    const bounds last = bounds_of(wide ? 0 : p->out_offset, p->act_min, p->act_max);
    const __m256i x_offset = _mm256_set1_epi32(wide ? 0 : p->input_1_offset);
    const __m256i y_offset = _mm256_set1_epi32(wide ? 0 : p->input_2_offset);
    const __m128i up = _mm_cvtsi32_si128(p->left_shift);
    for (int64_t i = 0; i < p->block_size; i += 8) {
        const int64_t left = p->block_size - i;
        __m256i x = _mm256_add_epi32(elements_at(b->in[0], type, i, left), x_offset);
        __m256i y = _mm256_add_epi32(elements_at(b->in[1], type, i, left), y_offset);
        x = scaled(&x_scale, _mm256_sll_epi32(x, up));
        y = scaled(&y_scale, _mm256_sll_epi32(y, up));
        const __m256i sum = minus ? _mm256_sub_epi32(x, y) : _mm256_add_epi32(x, y);
        put_at(b->out, type, i, left, scaled(&out_scale, sum), &last);
    }
    return QN_OK;
}

int s_elementwise_sub_s8_avx2(const void *params, const qn_buffers *b) {
    return combine(params, b, S8, 1);
}

int s_elementwise_add_u8_avx2(const void *params, const qn_buffers *b) {
    return combine(params, b, U8, 0);
}

int s_elementwise_add_s16_avx2(const void *params, const qn_buffers *b) {
    return combine(params, b, S16, 0);
}

int s_elementwise_sub_s16_avx2(const void *params, const qn_buffers *b) {
    return combine(params, b, S16, 1);
}

static inline __m256i product_at(const qn_buffers *b, int64_t i, int64_t left) {
    return _mm256_mullo_epi32(elements_at(b->in[0], S16, i, left),
                              elements_at(b->in[1], S16, i, left));
}

static inline int multiply(const qn_s_mul *p, const qn_buffers *b, element_type out, int64_t count,
                           int32_t offset) {
    const exact scale = exact_of(p->profile, p->out_mult, p->out_shift);
    const bounds last = bounds_of(offset, p->act_min, p->act_max);
    for (int64_t i = 0; i < count; i += 8) {
        put_at(b->out, out, i, count - i, scaled(&scale, product_at(b, i, count - i)), &last);
    }
    return QN_OK;
}

int s_elementwise_mul_s16_avx2(const void *params, const qn_buffers *b) {
    return multiply(params, b, S16, ((const qn_s_mul *)params)->block_size, 0);
}

int s_elementwise_mul_s16_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    return multiply(p, b, S8, (int64_t)p->batch_size * p->block_size, p->out_offset);
}

/* With fewer channels than lanes the plain row is as fast. */
int64_t s_prelu_s8_avx2_scratch(const void *params) {
    return ((const qn_s_prelu *)params)->inner < 8 ? QN_NOT_TAKEN : 0;
}

/* Compute both branches of every element; the product of either has at most 17 bits. */
int s_prelu_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const exact identity = exact_of(p->profile, p->identity_multiplier, p->identity_shift);
    const exact slope = exact_of(p->profile, p->alpha_multiplier, p->alpha_shift);
    const bounds last = bounds_of(p->output_zero_point, INT8_MIN, INT8_MAX);
    const __m256i input_zero = _mm256_set1_epi32(p->input_zero_point);
    const __m256i alpha_zero = _mm256_set1_epi32(p->alpha_zero_point);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++, in += p->inner, out += p->inner) {
        for (int32_t c = 0; c < p->inner; c += 8) {
            const int32_t left = p->inner - c;
            const __m256i value = _mm256_sub_epi32(elements_at(in, S8, c, left), input_zero);
            const __m256i alpha =
                _mm256_sub_epi32(elements_at(b->weights, S8, c, left), alpha_zero);
            const __m256i negative = _mm256_cmpgt_epi32(_mm256_setzero_si256(), value);
            const __m256i result =
                _mm256_blendv_epi8(scaled(&identity, value),
                                   scaled(&slope, _mm256_mullo_epi32(value, alpha)), negative);
            put_at(out, S8, c, left, result, &last);
        }
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
