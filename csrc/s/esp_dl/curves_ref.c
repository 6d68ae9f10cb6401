/* Curves, quotients and changes of type of ESP-DL, plain. */
#include "floats.h"

/* ---- curves ---- */

static int curve(const qn_dl_curve *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"input_exponent", p->input_exponent, -30, 30},
        {"output_exponent", p->output_exponent, -30, 30},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->out = p->block_size * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_curve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return curve(params, 1, sizes, why);
}

int s_dl_curve_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return curve(params, 2, sizes, why);
}

static float sigmoid(float x) { return (float)(1.0 / (1.0 + qn_exp_f32(-x))); }

static double between_0_and_1(double x) { return x > 1 ? 1 : x > 0 ? x : 0; }

/* The result of x, before the output's scale. */
static float result(const qn_dl_curve *p, float x) {
    const float alpha = qn_float_of_bits((uint32_t)p->alpha_bits);
    const float beta = qn_float_of_bits((uint32_t)p->beta_bits);
    switch (p->kind) {
        case QN_DL_SIGMOID:
            return sigmoid(x);
        case QN_DL_TANH:
            return s_dl_sum(2 * sigmoid(2 * x), -1);
        case QN_DL_EXP:
            return qn_exp_f32(x);
        case QN_DL_LOG:
            return qn_log_f32(x);
        case QN_DL_SQRT:
            return qn_sqrt_f32(x);
        case QN_DL_ELU:
            return x >= 0 ? x : s_dl_mul(alpha, s_dl_sum(qn_exp_f32(x), -1));
        case QN_DL_LEAKY_RELU:
            return x >= 0 ? x : s_dl_mul(x, alpha);
        case QN_DL_HARD_SWISH: {
            const double product = 0.166667 * (double)x;
            return (float)(between_0_and_1(product + 0.5) * x);
        }
        case QN_DL_HARD_SIGMOID:
            return (float)between_0_and_1(s_dl_sum(s_dl_mul(alpha, x), beta));
        default:
            return s_dl_mul(sigmoid(x), x);
    }
}

static int curves(const qn_dl_curve *p, const qn_buffers *b, int is_wide) {
    const float in_scale = s_dl_power(p->input_exponent), scale = s_dl_power(-p->output_exponent);
    for (int32_t i = 0; i < p->block_size; i++) {
        const float x = s_dl_mul((float)s_dl_at(b->in[0], i, is_wide), in_scale);
        s_dl_put(b->out, i, s_dl_round(s_dl_mul(result(p, x), scale), p->chip), is_wide);
    }
    return QN_OK;
}

int s_dl_curve_s8_ref(const void *params, const qn_buffers *b) { return curves(params, b, 0); }

int s_dl_curve_s16_ref(const void *params, const qn_buffers *b) { return curves(params, b, 1); }

/* ---- quotients ---- */

static int64_t quotient(const qn_dl_pair *p, int64_t x, int64_t y, int is_wide) {
    const float scale = s_dl_power(-p->right_shift), scaled = s_dl_mul((float)x, scale);
    if (y == 0 && (x != 0 || (p->scalar == 1 && !is_wide && p->row_size == p->block_size))) {
        return x > 0 ? INT16_MAX : INT16_MIN;
    }
    if (x == 0) {
        return 0;
    }
    const float v =
        p->scalar == 2 ? s_dl_mul((float)x, s_dl_div(scale, (float)y)) : s_dl_div(scaled, (float)y);
    return s_dl_round(v, p->chip);
}

static int divide(const qn_dl_pair *p, const qn_buffers *b, int is_wide) {
    for (int32_t i = 0; i < p->block_size; i++) {
        const int64_t x = s_dl_at(b->in[0], i, is_wide), y = s_dl_at(b->in[1], i, is_wide);
        s_dl_put(b->out, i, quotient(p, x, y, is_wide), is_wide);
    }
    return QN_OK;
}

int s_dl_div_s8_ref(const void *params, const qn_buffers *b) { return divide(params, b, 0); }

int s_dl_div_s16_ref(const void *params, const qn_buffers *b) { return divide(params, b, 1); }

/* ---- changes of type ---- */

static int convert(const qn_dl_vector *p, int64_t from, int64_t to, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 4},
        {"right_shift", p->right_shift, -31, 31},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = p->block_size * from;
    sizes->out = p->block_size * to;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_quantize_f32_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return convert(params, 4, 1, sizes, why);
}

int s_dl_quantize_f32_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return convert(params, 4, 2, sizes, why);
}

int s_dl_dequantize_s8_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return convert(params, 1, 4, sizes, why);
}

int s_dl_dequantize_s16_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return convert(params, 2, 4, sizes, why);
}

static int quantize(const qn_dl_vector *p, const qn_buffers *b, int is_wide) {
    const float *in = b->in[0], scale = s_dl_power(-p->right_shift);
    for (int32_t i = 0; i < p->block_size; i++) {
        s_dl_put(b->out, i, s_dl_round(s_dl_mul(in[i], scale), p->chip), is_wide);
    }
    return QN_OK;
}

int s_dl_quantize_f32_s8_ref(const void *params, const qn_buffers *b) {
    return quantize(params, b, 0);
}

int s_dl_quantize_f32_s16_ref(const void *params, const qn_buffers *b) {
    return quantize(params, b, 1);
}

static int dequantize(const qn_dl_vector *p, const qn_buffers *b, int is_wide) {
    const float scale = s_dl_power(-p->right_shift);
    float *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = s_dl_mul((float)s_dl_at(b->in[0], i, is_wide), scale);
    }
    return QN_OK;
}

int s_dl_dequantize_s8_f32_ref(const void *params, const qn_buffers *b) {
    return dequantize(params, b, 0);
}

int s_dl_dequantize_s16_f32_ref(const void *params, const qn_buffers *b) {
    return dequantize(params, b, 1);
}
