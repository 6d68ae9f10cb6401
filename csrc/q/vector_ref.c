/* Saturating vector functions and the sum of a vector, plain. */
#include "vector.h"

int q_vector_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_vector_check(params, 1, sizes, why);
}

int q_vector_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_vector_check(params, 2, sizes, why);
}

int q_offset_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_offset_check(params, 1, INT8_MIN, INT8_MAX, sizes, why);
}

int q_offset_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_offset_check(params, 2, INT16_MIN, INT16_MAX, sizes, why);
}

int q_nn_add_q7_q31_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[0] = p->length;
    sizes->out = (int64_t)sizeof(int32_t);
    return qn_in_range("block_size", p->length, 0, INT32_MAX, why);
}

int q_mult_q7_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(qn_asr(x[i] * y[i], 7));
    }
    return QN_OK;
}

int q_mult_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(qn_asr(x[i] * y[i], 15));
    }
    return QN_OK;
}

int q_add_q7_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(x[i] + y[i]);
    }
    return QN_OK;
}

int q_add_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(x[i] + y[i]);
    }
    return QN_OK;
}

int q_sub_q7_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(x[i] - y[i]);
    }
    return QN_OK;
}

int q_sub_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(x[i] - y[i]);
    }
    return QN_OK;
}

int q_offset_q7_ref(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(in[i] + p->offset);
    }
    return QN_OK;
}

int q_offset_q15_ref(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(in[i] + p->offset);
    }
    return QN_OK;
}

int q_nn_add_q7_q31_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    int32_t *out = b->out;
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t value = in[i];
        sum += (uint32_t)value;
    }
    *out = qn_wrap32(sum);
    return QN_OK;
}

int q_offset_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_offset *)params)->length};
    return QN_OK;
}
