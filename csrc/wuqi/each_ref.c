/* Elementwise layers of the NPU, plain. */
#include "each.h"

static int lengths(int32_t length, int64_t element, qn_sizes *sizes, char *why) {
    int status = qn_in_range("length", length, 1, INT32_MAX, why);
    if (status == QN_OK) {
        sizes->in[0] = sizes->out = length * element;
        status = n_fits("the tensor", sizes->out, why);
    }
    return status;
}

static int check_each(const qn_npu_each *p, int64_t element, qn_sizes *sizes, char *why) {
    sizes->in_place = 1;
    int status = qn_in_range("slope", p->slope, 0, 255, why);
    if (status == QN_OK) {
        status = qn_in_range("high", p->high, 0, INT16_MAX, why);
    }
    return status == QN_OK ? lengths(p->length, element, sizes, why) : status;
}

int n_each_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check_each(params, 1, sizes, why);
}

int n_each_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check_each(params, 2, sizes, why);
}

int n_lookup_s8_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->weights = 1 << 8;
    return check_each(params, 1, sizes, why);
}

int n_lookup_s16_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->weights = (int64_t)2 << 16;
    return check_each(params, 2, sizes, why);
}

static inline int relu(const qn_npu_each *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        int32_t x = read(b->in[0], i);
        write(b->out, i, x >= 0 ? x : qn_asr(x * p->slope, 6));
    }
    return QN_OK;
}

int n_relu_s8_ref(const void *params, const qn_buffers *b) {
    return relu(params, b, qn_read_s8, qn_write_s8);
}
int n_relu_s16_ref(const void *params, const qn_buffers *b) {
    return relu(params, b, qn_read_s16, qn_write_s16);
}

static inline int clip(const qn_npu_each *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, qn_clamp(read(b->in[0], i), 0, p->high));
    }
    return QN_OK;
}

int n_clip_s8_ref(const void *params, const qn_buffers *b) {
    return clip(params, b, qn_read_s8, qn_write_s8);
}
int n_clip_s16_ref(const void *params, const qn_buffers *b) {
    return clip(params, b, qn_read_s16, qn_write_s16);
}

static inline int lookup(const qn_npu_each *p, const qn_buffers *b, qn_read *read, qn_write *write,
                         int32_t lowest) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, read(b->weights, read(b->in[0], i) - lowest));
    }
    return QN_OK;
}

int n_lookup_s8_ref(const void *params, const qn_buffers *b) {
    return lookup(params, b, qn_read_s8, qn_write_s8, INT8_MIN);
}
int n_lookup_s16_ref(const void *params, const qn_buffers *b) {
    return lookup(params, b, qn_read_s16, qn_write_s16, INT16_MIN);
}

static int check_add(const qn_npu_add *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = lengths(p->length, element, sizes, why);
    sizes->in[1] = sizes->in[0];
    return status == QN_OK ? qn_in_range("shift", p->shift, 0, 31, why) : status;
}

int n_add_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check_add(params, 1, sizes, why);
}
int n_add_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check_add(params, 2, sizes, why);
}

static inline int add(const qn_npu_add *p, const qn_buffers *b, qn_read *read, qn_write *write) {
    for (int32_t i = 0; i < p->length; i++) {
        write(b->out, i, qn_asr(read(b->in[0], i) + read(b->in[1], i), p->shift));
    }
    return QN_OK;
}

int n_add_s8_ref(const void *params, const qn_buffers *b) {
    return add(params, b, qn_read_s8, qn_write_s8);
}
int n_add_s16_ref(const void *params, const qn_buffers *b) {
    return add(params, b, qn_read_s16, qn_write_s16);
}

int n_each_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_npu_each *)params)->length};
    return QN_OK;
}

int n_add_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_npu_add *)params)->length};
    return QN_OK;
}
