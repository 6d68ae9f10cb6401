/* Windows and features of the Signal library and the micro frontend: the compiler's loops on AVX2. */
#include "spectrum.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

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
