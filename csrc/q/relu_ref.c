/* Rectifiers, plain. */
#include "relu.h"

int q_relu_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_relu_check(params, 1, sizes, why);
}

int q_relu_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_relu_check(params, 2, sizes, why);
}

int q_relu_q7_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = in[i] < 0 ? 0 : in[i];
    }
    return QN_OK;
}

int q_relu_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = in[i] < 0 ? 0 : in[i];
    }
    return QN_OK;
}

int q_relu6_s8_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap8(qn_clamp(in[i], 0, 6));
    }
    return QN_OK;
}
