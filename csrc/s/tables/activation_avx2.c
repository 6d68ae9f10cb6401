/* Sigmoid and tanh of vectors of the s16 API on AVX2. */
#include "logistic.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

#include "activation_avx2.inc"

/* In place or not. */
static inline int activate(const looked_up *l, int64_t length, int tanh, const qn_buffers *b) {
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int64_t i = 0; i < length; i += 8) {
        const int64_t available = 2 * (length - i);
        const __m256i x = _mm256_cvtepi16_epi32(load_16(in + i, available));
        store_16(out + i, available, halfwords(activated(looked_up_at(l, x), tanh)));
    }
    return QN_OK;
}

int s_activation_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_s_activation *p = params;
    const looked_up l = looked_up_of(p->left_shift);
    return p->type == 0 ? activate(&l, p->size, 0, b) : activate(&l, p->size, 1, b);
}

static looked_up of_logistic(const qn_s_logistic *p) {
    const int shift = p->input_left_shift;
    if (p->input_multiplier == 0) {
        return (looked_up){3 * (1 << shift), 0, 0};
    }
    return (looked_up){p->input_multiplier, shift > 0 ? qn_wrap32(qn_shl(1, shift - 1)) : 0, shift};
}

int s_logistic_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const looked_up l = of_logistic(p);
    return activate(&l, p->length, 0, b);
}

int s_tanh_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const looked_up l = of_logistic(p);
    return activate(&l, p->length, 1, b);
}

#include "../../gemm/target_end.inc"

#endif
