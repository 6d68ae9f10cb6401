/* Saturating vector functions and the sum of a vector, plain. */
#include "vector.h"

#include "../common/element.h"

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

static inline int mult(const qn_vector *p, const qn_buffers *b, qn_read *read, qn_write *write,
                       int32_t shift) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, qn_asr(read(b->in[0], i) * read(b->in[1], i), shift));
    }
    return QN_OK;
}

int q_mult_q7_ref(const void *params, const qn_buffers *b) {
    return mult(params, b, qn_read_s8, qn_write_s8, 7);
}

int q_mult_q15_ref(const void *params, const qn_buffers *b) {
    return mult(params, b, qn_read_s16, qn_write_s16, 15);
}

static inline int add(const qn_vector *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, read(b->in[0], i) + read(b->in[1], i));
    }
    return QN_OK;
}

int q_add_q7_ref(const void *params, const qn_buffers *b) {
    return add(params, b, qn_read_s8, qn_write_s8);
}

int q_add_q15_ref(const void *params, const qn_buffers *b) {
    return add(params, b, qn_read_s16, qn_write_s16);
}

static inline int sub(const qn_vector *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, read(b->in[0], i) - read(b->in[1], i));
    }
    return QN_OK;
}

int q_sub_q7_ref(const void *params, const qn_buffers *b) {
    return sub(params, b, qn_read_s8, qn_write_s8);
}

int q_sub_q15_ref(const void *params, const qn_buffers *b) {
    return sub(params, b, qn_read_s16, qn_write_s16);
}

static inline int offset(const qn_offset *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, read(b->in[0], i) + p->offset);
    }
    return QN_OK;
}

int q_offset_q7_ref(const void *params, const qn_buffers *b) {
    return offset(params, b, qn_read_s8, qn_write_s8);
}

int q_offset_q15_ref(const void *params, const qn_buffers *b) {
    return offset(params, b, qn_read_s16, qn_write_s16);
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
