/* Element-wise calls of ESP-DL, plain. */
#include "elementwise.h"

static int pair(const qn_dl_pair *p, int64_t element, int32_t least, qn_sizes *sizes, char *why) {
    const int32_t most = (int32_t)(INT32_MAX / element);
    const s_range all[] = {
        {"block_size", p->block_size, 1, most},
        {"row_size", p->row_size, 1, most},
        {"scalar", p->scalar, 0, 2},
        {"right_shift", p->right_shift, least, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_pair_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 1, -31, sizes, why);
}

int s_dl_pair_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 2, -31, sizes, why);
}

/* The shifts of an ESP32-S3 count to the right alone. */
static int32_t least_shift(const qn_dl_pair *p) { return p->chip == QN_DL_S3 ? 0 : -31; }

int s_dl_mul_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 1, least_shift(params), sizes, why);
}

int s_dl_mul_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return pair(params, 2, least_shift(params), sizes, why);
}

/* A sum of the first input and `sign` times the second. */
static int combine(const qn_dl_pair *p, const qn_buffers *b, int sign, int is_wide) {
    for (int32_t i = 0; i < p->block_size; i++) {
        const int64_t x = s_dl_at(b->in[0], i, is_wide), y = s_dl_at(b->in[1], i, is_wide);
        s_dl_put(b->out, i, x + sign * y, is_wide);
    }
    return QN_OK;
}

int s_dl_add_s8_ref(const void *params, const qn_buffers *b) { return combine(params, b, 1, 0); }

int s_dl_add_s16_ref(const void *params, const qn_buffers *b) { return combine(params, b, 1, 1); }

int s_dl_sub_s8_ref(const void *params, const qn_buffers *b) { return combine(params, b, -1, 0); }

int s_dl_sub_s16_ref(const void *params, const qn_buffers *b) { return combine(params, b, -1, 1); }

static int multiply(const qn_dl_pair *p, const qn_buffers *b, int is_wide) {
    const int is_float = is_wide && (p->chip == QN_DL_C || p->row_size < 8);
    for (int32_t i = 0; i < p->block_size; i++) {
        const int64_t x = s_dl_at(b->in[0], i, is_wide), y = s_dl_at(b->in[1], i, is_wide);
        const int64_t product = is_float ? (int64_t)(float)(x * y) : x * y;
        s_dl_put(b->out, i, s_dl_shift(product, p->right_shift, p->chip), is_wide);
    }
    return QN_OK;
}

int s_dl_mul_s8_ref(const void *params, const qn_buffers *b) { return multiply(params, b, 0); }

int s_dl_mul_s16_ref(const void *params, const qn_buffers *b) { return multiply(params, b, 1); }

/* ---- requantize ---- */

static int vector(const qn_dl_vector *p, int64_t from, int64_t to, qn_sizes *sizes, char *why) {
    const int32_t left = p->chip == QN_DL_C ? 31 : from == 1 && to == 1 ? 6 : 14;
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"right_shift", p->right_shift, -left, 31},
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

static int requantize(const qn_dl_vector *p, const qn_buffers *b, int from_wide, int to_wide) {
    for (int32_t i = 0; i < p->block_size; i++) {
        const int64_t x = s_dl_at(b->in[0], i, from_wide);
        s_dl_put(b->out, i, s_dl_shift(x, p->right_shift, p->chip), to_wide);
    }
    return QN_OK;
}

int s_dl_requantize_s8_ref(const void *params, const qn_buffers *b) {
    return requantize(params, b, 0, 0);
}

int s_dl_requantize_s16_ref(const void *params, const qn_buffers *b) {
    return requantize(params, b, 1, 1);
}

int s_dl_requantize_s8_s16_ref(const void *params, const qn_buffers *b) {
    return requantize(params, b, 0, 1);
}

int s_dl_requantize_s16_s8_ref(const void *params, const qn_buffers *b) {
    return requantize(params, b, 1, 0);
}

/* ---- neg, clip ---- */

static int negate(const qn_dl_vector *p, const qn_buffers *b, int is_wide) {
    for (int32_t i = 0; i < p->block_size; i++) {
        s_dl_put(b->out, i, -s_dl_at(b->in[0], i, is_wide), is_wide);
    }
    return QN_OK;
}

int s_dl_neg_s8_ref(const void *params, const qn_buffers *b) { return negate(params, b, 0); }

int s_dl_neg_s16_ref(const void *params, const qn_buffers *b) { return negate(params, b, 1); }

static int clip(const qn_dl_clip *p, int32_t end, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"low", p->low, -end - 1, end},
        {"high", p->high, p->low, end},
        {"right_shift", p->right_shift, -31, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->out = (int64_t)p->block_size * (end == INT8_MAX ? 1 : 2);
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_clip_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return clip(params, INT8_MAX, sizes, why);
}

int s_dl_clip_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return clip(params, INT16_MAX, sizes, why);
}

static int clipped(const qn_dl_clip *p, const qn_buffers *b, int is_wide) {
    for (int32_t i = 0; i < p->block_size; i++) {
        const int64_t x = qn_clamp64(s_dl_at(b->in[0], i, is_wide), p->low, p->high);
        s_dl_put(b->out, i, s_dl_shift(x, p->right_shift, p->chip), is_wide);
    }
    return QN_OK;
}

int s_dl_clip_s8_ref(const void *params, const qn_buffers *b) { return clipped(params, b, 0); }

int s_dl_clip_s16_ref(const void *params, const qn_buffers *b) { return clipped(params, b, 1); }

/* ---- prelu, table ---- */

static int prelu(const qn_dl_prelu *p, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t most = (int32_t)(INT32_MAX / element);
    const s_range all[] = {
        {"outer", p->outer, 1, most},
        {"inner", p->inner, 1, most / (p->outer > 1 ? p->outer : 1)},
        {"alpha_right_shift", p->alpha_right_shift, 0, 31},
        {"input_right_shift", p->input_right_shift, -31, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->out = (int64_t)p->outer * p->inner * element;
    sizes->weights = p->inner * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_prelu_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return prelu(params, 1, sizes, why);
}

int s_dl_prelu_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return prelu(params, 2, sizes, why);
}

static int64_t rectified(const qn_dl_prelu *p, int64_t x, int64_t alpha, int is_wide) {
    if (is_wide || p->chip == QN_DL_C) {
        return x < 0 ? qn_asr64(x * alpha, p->alpha_right_shift) : x;
    }
    return x < 0 ? s_dl_shift(x * alpha, p->alpha_right_shift, p->chip)
                 : s_dl_shift(x, p->input_right_shift, p->chip);
}

static int rectify(const qn_dl_prelu *p, const qn_buffers *b, int is_wide) {
    int64_t at = 0;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++, at++) {
            const int64_t x = s_dl_at(b->in[0], at, is_wide);
            s_dl_put(b->out, at, rectified(p, x, s_dl_at(b->weights, i, is_wide), is_wide),
                     is_wide);
        }
    }
    return QN_OK;
}

int s_dl_prelu_s8_ref(const void *params, const qn_buffers *b) { return rectify(params, b, 0); }

int s_dl_prelu_s16_ref(const void *params, const qn_buffers *b) { return rectify(params, b, 1); }

/* The bits by which inputs are shifted to a place; -1 if a table cannot have so many places. */
static int step_bits(int32_t places) {
    if (places == 65536) {
        return 0;
    }
    for (int bits = 1; bits <= 15; bits++) {
        if (places == (65536 >> bits) + 1) {
            return bits;
        }
    }
    return -1;
}

int s_dl_table_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_dl_table *p = params;
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    if (step_bits(p->places) < 0) {
        return qn_deny(
            why, QN_REFUSED,
            "a table of 16-bit numbers has 65536 places, or 65536 / step + 1 with a power "
            "of two as step, has %ld",
            (long)p->places);
    }
    sizes->in[0] = sizes->out = p->block_size * INT64_C(2);
    sizes->weights = p->places * INT64_C(2);
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_table_s16_ref(const void *params, const qn_buffers *b) {
    const qn_dl_table *p = params;
    const int16_t *in = b->in[0], *table = b->weights;
    const int bits = step_bits(p->places);
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = table[s_dl_shift(in[i] + INT64_C(32768), bits, p->chip)];
    }
    return QN_OK;
}
