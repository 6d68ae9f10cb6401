/* Scaling of the Signal library, in loops without branches. */
#include "spectrum.h"

/* m of spectrum.h, as it is found where -32768 counts: each is a new start. */
static int16_t one_after_the_other(const int16_t *in, int32_t length) {
    int16_t most = 0;
    for (int32_t i = 0; i < length; i++) {
        if (in[i] > most) {
            most = in[i];
        } else if (-in[i] > most) {
            most = qn_wrap16(-in[i]);
        }
    }
    return most;
}

static int32_t scale_bits(const qn_signal_scale *p, const int16_t *in) {
    int16_t most = 0, lowest = 0;
    for (int32_t i = 0; i < p->length; i++) {
        const int16_t x = in[i], negative = qn_wrap16(-x); /* -32768 stays what it is, below all */
        const int16_t size = x > negative ? x : negative;
        most = size > most ? size : most;
        lowest = x < lowest ? x : lowest;
    }
    if (lowest == INT16_MIN && !p->skips_lowest) {
        most = one_after_the_other(in, p->length);
    }
    return most > 0 || p->skips_lowest ? qn_leading_zeros((uint32_t)most) - 17 : 0;
}

int s_signal_auto_scale_s16_portable(const void *params, const qn_buffers *b) {
    const qn_signal_scale *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    const int32_t factor = 1 << scale_bits(p, in);
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap16(in[i] * factor);
    }
    return QN_OK;
}

int s_signal_scale_bits_s16_portable(const void *params, const qn_buffers *b) {
    *(int32_t *)b->out = scale_bits(params, b->in[0]);
    return QN_OK;
}
