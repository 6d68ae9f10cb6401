/* Changes of scale of 16 bits on AVX2, 8 elements at a time. */
#include "kernels.h"
#include "requantize.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "exact_avx2.inc"

/* In place or not, where the elements have the same size. */
static inline int requantize(const qn_s_requantize *p, const qn_buffers *b, element_type out) {
    const exact scale = exact_of(p->profile, p->multiplier, p->shift);
    const bounds last = bounds_of(p->output_zero_point, p->act_min, p->act_max);
    const __m256i zero = _mm256_set1_epi32(p->input_zero_point);
    for (int64_t i = 0; i < p->length; i += 8) {
        const int64_t left = p->length - i;
        const __m256i x = _mm256_sub_epi32(elements_at(b->in[0], S16, i, left), zero);
        put_at(b->out, out, i, left, scaled(&scale, x), &last);
    }
    return QN_OK;
}

int s_requantize_s16_s8_avx2(const void *params, const qn_buffers *b) {
    return requantize(params, b, S8);
}

int s_requantize_s16_s16_avx2(const void *params, const qn_buffers *b) {
    return requantize(params, b, S16);
}

int s_requantize_s16_s32_avx2(const void *params, const qn_buffers *b) {
    return requantize(params, b, S32);
}

int s_leaky_relu_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_s_leaky_relu *p = params;
    const exact identity = exact_of(p->profile, p->identity_multiplier, p->identity_shift);
    const int32_t sign = qn_asr(p->alpha_multiplier, 31),
                  factor = (p->alpha_multiplier ^ sign) - sign;
    const exact alpha = exact_of(p->profile, factor, p->alpha_shift);
    const __m256i signs = _mm256_set1_epi32(sign);
    const bounds last = bounds_of(p->output_zero_point, INT16_MIN, INT16_MAX);
    const __m256i zero = _mm256_set1_epi32(p->input_zero_point);
    for (int64_t i = 0; i < p->length; i += 8) {
        const int64_t left = p->length - i;
        const __m256i x = _mm256_sub_epi32(elements_at(b->in[0], S16, i, left), zero);
        const __m256i below = _mm256_sub_epi32(_mm256_xor_si256(scaled(&alpha, x), signs), signs);
        const __m256i value =
            _mm256_blendv_epi8(scaled(&identity, x), below, _mm256_srai_epi32(x, 31));
        put_at(b->out, S16, i, left, value, &last);
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
