/* Logic and choices of TensorFlow Lite Micro, plain. */
#include <string.h>

#include "compare.h"

static int check(const qn_vector *p, int32_t element, qn_sizes *sizes, char *why) {
    sizes->in[0] = sizes->in[1] = sizes->out = (int64_t)p->length * element;
    sizes->in_place = 1;
    return qn_in_range("length", p->length, 0, INT32_MAX / element, why);
}

int s_logical_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int s_logical_not_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, 1, sizes, why);
    sizes->in[1] = 0;
    return status;
}

int s_extreme_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

int s_logical_and_ref(const void *params, const qn_buffers *b) {
    const uint8_t *x = b->in[0], *y = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < ((const qn_vector *)params)->length; i++) {
        out[i] = x[i] != 0 && y[i] != 0;
    }
    return QN_OK;
}

int s_logical_or_ref(const void *params, const qn_buffers *b) {
    const uint8_t *x = b->in[0], *y = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < ((const qn_vector *)params)->length; i++) {
        out[i] = x[i] != 0 || y[i] != 0;
    }
    return QN_OK;
}

int s_logical_not_ref(const void *params, const qn_buffers *b) {
    const uint8_t *x = b->in[0];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < ((const qn_vector *)params)->length; i++) {
        out[i] = x[i] == 0;
    }
    return QN_OK;
}

int s_maximum_s16_ref(const void *params, const qn_buffers *b) {
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < ((const qn_vector *)params)->length; i++) {
        out[i] = x[i] > y[i] ? x[i] : y[i];
    }
    return QN_OK;
}

int s_minimum_s16_ref(const void *params, const qn_buffers *b) {
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < ((const qn_vector *)params)->length; i++) {
        out[i] = x[i] < y[i] ? x[i] : y[i];
    }
    return QN_OK;
}

static int select_check(const qn_vector *p, int32_t element, qn_sizes *sizes, char *why) {
    sizes->in[0] = p->length;
    sizes->in[1] = sizes->in[2] = sizes->out = (int64_t)p->length * element;
    return qn_in_range("length", p->length, 0, INT32_MAX / element, why);
}

int s_select_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return select_check(params, 1, sizes, why);
}

int s_select_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return select_check(params, 2, sizes, why);
}

int s_select_32_check(const void *params, qn_sizes *sizes, char *why) {
    return select_check(params, 4, sizes, why);
}

static int chosen(const qn_vector *p, const qn_buffers *b, size_t element) {
    const uint8_t *condition = b->in[0];
    const char *x = b->in[1], *y = b->in[2];
    char *out = b->out;
    for (size_t i = 0; i < (size_t)p->length; i++) {
        memcpy(out + i * element, (condition[i] ? x : y) + i * element, element);
    }
    return QN_OK;
}

int s_select_s8_ref(const void *params, const qn_buffers *b) { return chosen(params, b, 1); }

int s_select_s16_ref(const void *params, const qn_buffers *b) { return chosen(params, b, 2); }

int s_select_32_ref(const void *params, const qn_buffers *b) { return chosen(params, b, 4); }
