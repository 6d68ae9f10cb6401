/* Products of two vectors, plain. */
#include "elementwise.h"

enum { S_FAR = 16384 };

/* Are both offsets minus a zero point of 8 bits? */
static int is_near(const qn_s_mul *p) {
    const int32_t one = p->input_1_offset, two = p->input_2_offset;
    return one >= -127 && one <= 128 && two >= -127 && two <= 128;
}

/* Does Helium's single rounding keep a product of so many bits inside of 32? */
static int doubled_fits(const qn_s_mul *p, int bits, char *why) {
    int vector = qn_path(p->profile) == QN_PATH_MVE && qn_rounding(p->profile) == QN_SINGLE;
    if (vector && p->out_shift > 30 - bits) {
        return qn_deny(why, QN_REFUSED,
                       "out_shift must be at most %d with single rounding on this core, is %ld: a "
                       "product could leave 32 bits",
                       30 - bits, (long)p->out_shift);
    }
    return QN_OK;
}

static int check(const qn_s_mul *p, int64_t in, int64_t out, qn_sizes *sizes, char *why) {
    const int32_t most = (int32_t)(INT32_MAX / in);
    const int32_t low = out == 1 ? INT8_MIN : INT16_MIN, high = out == 1 ? INT8_MAX : INT16_MAX;
    const s_range all[] = {
        {"block_size", p->block_size, 0, most},
        {"batch_size", p->batch_size, 1, p->block_size > 0 ? most / p->block_size : most},
        {"batch_offset", p->batch_offset, 1, 1},
        {"input_1_offset", in == 1 ? p->input_1_offset : 0, -S_FAR, S_FAR},
        {"input_2_offset", in == 1 ? p->input_2_offset : 0, -S_FAR, S_FAR},
        {"out_offset", out == 1 ? p->out_offset : 0, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"out_mult", p->out_mult, 0, INT32_MAX},
        {"out_shift", p->out_shift, -31, 30},
        {"act_min", p->act_min, low, high},
        {"act_max", p->act_max, p->act_min, high},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = (int64_t)p->batch_size * p->block_size;
    sizes->in[0] = sizes->in[1] = elements * in;
    sizes->out = elements * out;
    sizes->in_place = in == out;
    return doubled_fits(p, in == 2 ? 31 : is_near(p) ? 16 : 30, why);
}

int s_elementwise_mul_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, 1, sizes, why);
}

int s_elementwise_mul_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, 2, sizes, why);
}

int s_elementwise_mul_s16_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, 1, sizes, why);
}

/* The range that acc clamps to: the whole type where act_max <= 0. */
static qn_s_mul acc_params(const qn_s_mul *p) {
    qn_s_mul own = *p;
    if (p->act_max <= 0) {
        own.act_min = INT16_MIN;
        own.act_max = INT16_MAX;
    }
    return own;
}

int s_elementwise_mul_acc_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_mul own = acc_params(params);
    int status = check(&own, 2, 2, sizes, why);
    sizes->weights = sizes->out;
    return status;
}

static int32_t scaled(const qn_s_mul *p, int32_t product, int32_t offset) {
    const s_epilogue epilogue = {p->profile, offset, p->act_min, p->act_max};
    return s_output(&epilogue, product, p->out_mult, p->out_shift);
}

int s_elementwise_mul_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        int32_t product = (x[i] + p->input_1_offset) * (y[i] + p->input_2_offset);
        out[i] = (int8_t)scaled(p, product, p->out_offset);
    }
    return QN_OK;
}

int s_elementwise_mul_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (int16_t)scaled(p, x[i] * y[i], 0);
    }
    return QN_OK;
}

int s_elementwise_mul_s16_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->batch_size * p->block_size; i++) {
        out[i] = (int8_t)scaled(p, x[i] * y[i], p->out_offset);
    }
    return QN_OK;
}

int s_elementwise_mul_acc_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_mul own = acc_params(params);
    const int16_t *x = b->in[0], *y = b->in[1], *acc = b->weights;
    int16_t *out = b->out;
    for (int32_t i = 0; i < own.block_size; i++) {
        out[i] = (int16_t)scaled(&own, x[i] * y[i], acc[i]);
    }
    return QN_OK;
}
