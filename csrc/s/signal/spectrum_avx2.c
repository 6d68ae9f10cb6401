/* Windows, energies and features of the Signal library and the micro frontend on AVX2. */
#include <string.h>

#include "spectrum.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

int s_signal_window_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_signal_window *p = params;
    const int16_t *in = b->in[0], *weights = b->weights;
    int16_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++, in += p->size, out += p->size) {
        for (int32_t i = 0; i < p->size; i++) {
            out[i] = qn_sat16(qn_asr(in[i] * weights[i], p->right_shift));
        }
    }
    return QN_OK;
}

/* A pair of 16 bits times itself: the one sum of 2^31 is right without a sign. */
int s_signal_energy_s16_avx2(const void *params, const qn_buffers *b) {
    const qn_signal_energy *p = params;
    const int16_t *in = b->in[0];
    uint32_t *out = b->out;
    memset(out, 0, (size_t)p->start_index * 4);
    memset(out + p->end_index, 0, (size_t)(p->length - p->end_index) * 4);
    for (int32_t i = p->start_index; i < p->end_index; i += 8) {
        const int64_t left = (int64_t)4 * (p->end_index - i);
        const __m256i pairs = load_32(in + (int64_t)2 * i, left);
        store_32(out + i, left, _mm256_madd_epi16(pairs, pairs));
    }
    return QN_OK;
}

int s_signal_features_s16_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8((256 * in[i] + 333) / 666 - 128);
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
