/* Table activations, plain. */
#include "activation.h"
#include "activation_tables.h"

int q_activation_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_activation_check(params, 1, sizes, why);
}

int q_activation_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_activation_check(params, 2, sizes, why);
}

int q_activation_q7_ref(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    const int8_t *table = p->type == 0 ? q_sigmoid_q7 : q_tanh_q7;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = table[qn_asr(in[i], 3 - p->int_width) & 0xff];
    }
    return QN_OK;
}

int q_activation_q7_ref530(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    const int8_t *table = p->type == 0 ? q_sigmoid_q7 : q_tanh_q7;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = table[(uint8_t)in[i] >> (3 - p->int_width)];
    }
    return QN_OK;
}

static const int16_t *table_q15(const qn_activation *p) {
    return p->type == 0 ? q_sigmoid_q15 : q_tanh_q15;
}

/* Interpolate between entries a and b at the low `shift` bits of x. The weighted sum is below
 * 2^(11 + 15), and the weighted mean of two q15 values is a q15 value. */
static int16_t interpolate(int32_t a, int32_t b, int32_t x, int shift) {
    int32_t one = qn_wrap32(qn_shl(1, shift));
    int32_t fraction = x & (one - 1);
    return qn_wrap16(qn_asr((one - fraction) * a + fraction * b, shift));
}

int q_activation_q15_ref(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    const int16_t *table = table_q15(p);
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int shift = 11 - p->int_width;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t n = qn_asr(in[i], shift);
        int16_t entry = table[n & 0xff];
        out[i] = n == 127 ? entry : interpolate(entry, table[(n + 1) & 0xff], in[i], shift);
    }
    return QN_OK;
}

int q_activation_q15_ref560(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    const int16_t *table = table_q15(p);
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int shift = 11 - p->int_width;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t n = qn_asr(in[i], shift);
        out[i] =
            interpolate(table[qn_clamp(n, 0, 255)], table[qn_clamp(n + 1, 0, 255)], in[i], shift);
    }
    return QN_OK;
}

int q_activation_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_activation *)params)->length};
    return QN_OK;
}
