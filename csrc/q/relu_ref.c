/* Rectifiers, plain. */
#include "relu.h"

#include "../common/element.h"

int q_relu_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_relu_check(params, 1, sizes, why);
}

int q_relu_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_relu_check(params, 2, sizes, why);
}

static inline int relu(const qn_vector *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        const int32_t x = read(b->in[0], i);
        write(b->out, i, x < 0 ? 0 : x);
    }
    return QN_OK;
}

int q_relu_q7_ref(const void *params, const qn_buffers *b) {
    return relu(params, b, qn_read_s8, qn_write_s8);
}

int q_relu_q15_ref(const void *params, const qn_buffers *b) {
    return relu(params, b, qn_read_s16, qn_write_s16);
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
