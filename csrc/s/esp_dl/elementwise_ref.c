/* Element-wise calls of ESP-DL, plain. */
#include "elementwise.h"

static int pair(const qn_dl_pair *p, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t most = (int32_t)(INT32_MAX / element);
    const s_range all[] = {
        {"block_size", p->block_size, 1, most},
        {"row_size", p->row_size, 1, most},
        {"right_shift", p->right_shift, p->chip == QN_DL_S3 ? 0 : -31, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_pair_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 1, sizes, why);
}

int s_dl_pair_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 2, sizes, why);
}

int s_dl_add_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = qn_sat8(x[i] + y[i]);
    }
    return QN_OK;
}

int s_dl_add_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = qn_sat16(x[i] + y[i]);
    }
    return QN_OK;
}

int s_dl_sub_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = qn_sat8(x[i] - y[i]);
    }
    return QN_OK;
}

int s_dl_sub_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = qn_sat16(x[i] - y[i]);
    }
    return QN_OK;
}

int s_dl_mul_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_sat8(s_dl_shift(x[i] * y[i], p->right_shift, p->chip));
    }
    return QN_OK;
}

int s_dl_mul_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const int is_float = p->chip == QN_DL_C || p->row_size < 8;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        const int32_t product = x[i] * y[i];
        const int64_t exact = is_float ? (int64_t)(float)product : product;
        out[i] = s_dl_sat16(s_dl_shift(exact, p->right_shift, p->chip));
    }
    return QN_OK;
}

/* ---- requantize ---- */

static int vector(const qn_dl_vector *p, int64_t from, int64_t to, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"right_shift", p->right_shift, -31, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = p->block_size * from;
    sizes->out = p->block_size * to;
    sizes->in_place = from == to;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_requantize_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return vector(params, 1, 1, sizes, why);
}

int s_dl_requantize_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return vector(params, 2, 2, sizes, why);
}

int s_dl_requantize_s8_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return vector(params, 1, 2, sizes, why);
}

int s_dl_requantize_s16_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return vector(params, 2, 1, sizes, why);
}

int s_dl_requantize_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_vector *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_sat8(s_dl_shift(in[i], p->right_shift, p->chip));
    }
    return QN_OK;
}

int s_dl_requantize_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_vector *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_sat16(s_dl_shift(in[i], p->right_shift, p->chip));
    }
    return QN_OK;
}

int s_dl_requantize_s8_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_vector *p = params;
    const int8_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_sat16(s_dl_shift(in[i], p->right_shift, p->chip));
    }
    return QN_OK;
}

int s_dl_requantize_s16_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_vector *p = params;
    const int16_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_sat8(s_dl_shift(in[i], p->right_shift, p->chip));
    }
    return QN_OK;
}
