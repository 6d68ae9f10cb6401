/* Softmax of 16-bit rows, plain. */
#include "softmax.h"

int s_softmax_s16_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->weights = sizes->bias = S_SOFTMAX_TABLE * 2;
    return s_softmax_check(params, 2, 2, -31, 14, sizes, why);
}

/* The entry that u = -32768..32767 stands for, between two of the table. */
static int16_t look_up(const int16_t *table, int32_t u) {
    const int16_t *entry = table + 256 + qn_asr(u, 7);
    int32_t slope = qn_wrap16(entry[1] - entry[0]);
    return qn_wrap16(entry[0] + qn_asr(slope * (u & 127) + 64, 7));
}

static int16_t most_of(const int16_t *row, int32_t size) {
    int16_t most = row[0];
    for (int32_t i = 1; i < size; i++) {
        most = row[i] > most ? row[i] : most;
    }
    return most;
}

int s_softmax_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_softmax *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++, in += p->row_size, out += p->row_size) {
        int32_t most = most_of(in, p->row_size), sum = 0; /* below 2^31 in size */
        for (int32_t i = 0; i < p->row_size; i++) {
            int32_t scaled = qn_requantize(p->profile, in[i] - most, p->mult, p->shift);
            out[i] = look_up(b->weights, qn_sat16(qn_add32(scaled, INT16_MAX)));
            sum += out[i];
        }
        int headroom = qn_clamp(qn_leading_zeros((uint32_t)sum), 1, 30);
        int32_t shifted = qn_add32(qn_wrap32(qn_shl(sum, headroom - 1)), 1 << 13);
        int16_t reciprocal = look_up(b->bias, qn_wrap16(qn_asr(shifted, 14) - 98304));
        for (int32_t i = 0; i < p->row_size; i++) {
            int32_t product = qn_asr(out[i] * reciprocal, 30 - headroom);
            out[i] = qn_wrap16(qn_asr(product + 1, 1));
        }
    }
    return QN_OK;
}
