/* Normalizations of ESP-DL, plain. */
#include "floats.h"

static int norm(const qn_dl_norm *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"size", p->size, 1, UINT16_MAX},
        {"inner", p->inner, 1, INT32_MAX},
        {"input_exponent", p->input_exponent, -30, 30},
        {"scale_exponent", p->scale_exponent, -30, 30},
        {"bias_exponent", p->bias_exponent, -30, 30},
        {"output_exponent", p->output_exponent, -30, 30},
        {"p", p->p, 1, 2},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    const int64_t count = s_elements(element, (int32_t[]){p->outer, p->size, p->inner}, 3);
    sizes->in[0] = sizes->out = count * element;
    return status == QN_OK && count < 0 ? s_too_large("output", why) : status;
}

/* epsilon must be positive, so that no sum is 0. */
static int with_epsilon(const qn_dl_norm *p, int64_t element, int64_t weight, int64_t bias,
                        qn_sizes *sizes, char *why) {
    const float epsilon = qn_float_of_bits((uint32_t)p->epsilon_bits);
    const int status = norm(p, element, sizes, why);
    sizes->weights = p->size * weight;
    sizes->bias = p->size * bias;
    if (status == QN_OK && !(epsilon > 0 && epsilon < qn_infinity())) {
        return qn_deny(why, QN_REFUSED, "epsilon must be a positive float32");
    }
    return status;
}

int s_dl_layer_norm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return with_epsilon(params, 1, 1, 1, sizes, why);
}

int s_dl_layer_norm_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return with_epsilon(params, 2, 2, 2, sizes, why);
}

int s_dl_rms_norm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return with_epsilon(params, 1, 4, 0, sizes, why);
}

int s_dl_rms_norm_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return with_epsilon(params, 2, 4, 0, sizes, why);
}

int s_dl_lp_norm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return norm(params, 1, sizes, why);
}

int s_dl_lp_norm_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return norm(params, 2, sizes, why);
}

/* ---- LayerNormalization ---- */

/* Normalizes the row from element `first` on. */
static void layer_row(const qn_dl_norm *p, const qn_buffers *b, int64_t first, int is_wide) {
    const float scale = s_dl_power(p->input_exponent), end = s_dl_power(-p->output_exponent);
    const float of_weights = s_dl_power(p->scale_exponent), of_bias = s_dl_power(p->bias_exponent);
    int64_t sum = 0;
    for (int32_t i = 0; i < p->size; i++) {
        sum += s_dl_at(b->in[0], first + i, is_wide);
    }
    const float steps = (float)((double)sum / p->size), mean = s_dl_mul(steps, scale);
    float squares = 0;
    for (int32_t i = 0; i < p->size; i++) {
        const float rest = s_dl_sum((float)s_dl_at(b->in[0], first + i, is_wide), -steps);
        squares = s_dl_sum(squares, s_dl_mul(rest, rest));
    }
    const float variance = s_dl_div(s_dl_mul(squares, s_dl_mul(scale, scale)), (float)p->size);
    const float epsilon = qn_float_of_bits((uint32_t)p->epsilon_bits);
    const float inverse = s_dl_div(1, s_dl_newton_root(s_dl_sum(variance, epsilon)));
    for (int32_t i = 0; i < p->size; i++) {
        const float x = s_dl_mul((float)s_dl_at(b->in[0], first + i, is_wide), scale);
        const float weight = s_dl_mul((float)s_dl_at(b->weights, i, is_wide), of_weights);
        const float bias = b->bias ? s_dl_mul((float)s_dl_at(b->bias, i, is_wide), of_bias) : 0;
        const float normal = s_dl_mul(s_dl_sum(x, -mean), inverse);
        const float v = s_dl_mul(s_dl_sum(s_dl_mul(normal, weight), bias), end);
        s_dl_put(b->out, first + i, s_dl_round(v, p->chip), is_wide);
    }
}

static int layer_norm(const qn_dl_norm *p, const qn_buffers *b, int is_wide) {
    for (int64_t row = 0; row < p->outer; row++) {
        layer_row(p, b, row * p->size, is_wide);
    }
    return QN_OK;
}

int s_dl_layer_norm_s8_ref(const void *params, const qn_buffers *b) {
    return layer_norm(params, b, 0);
}

int s_dl_layer_norm_s16_ref(const void *params, const qn_buffers *b) {
    return layer_norm(params, b, 1);
}

/* ---- RMSNormalization, LpNormalization ---- */

/* The sum of squares of `size` elements from `first` on. */
static int64_t squares_of(const qn_dl_norm *p, const qn_buffers *b, int64_t first, int is_wide) {
    int64_t sum = 0;
    for (int32_t i = 0; i < p->size; i++) {
        const int64_t x = s_dl_at(b->in[0], first + (int64_t)i * p->inner, is_wide);
        sum += x * x;
    }
    return sum;
}

static int rms_norm(const qn_dl_norm *p, const qn_buffers *b, int is_wide) {
    const float scale = s_dl_power(p->input_exponent), *weights = b->weights;
    const float both = s_dl_mul(scale, s_dl_power(-p->output_exponent));
    const float epsilon = qn_float_of_bits((uint32_t)p->epsilon_bits);
    for (int64_t row = 0; row < p->outer; row++) {
        const int64_t first = row * p->size;
        const float squares =
            s_dl_mul((float)squares_of(p, b, first, is_wide), s_dl_mul(scale, scale));
        const float mean = s_dl_sum(s_dl_div(squares, (float)p->size), epsilon);
        const float factor = s_dl_mul(s_dl_div(1, qn_sqrt_f32(mean)), both);
        for (int32_t i = 0; i < p->size; i++) {
            const float x = s_dl_mul((float)s_dl_at(b->in[0], first + i, is_wide), factor);
            s_dl_put(b->out, first + i, s_dl_round(s_dl_mul(x, weights[i]), p->chip), is_wide);
        }
    }
    return QN_OK;
}

int s_dl_rms_norm_s8_ref(const void *params, const qn_buffers *b) { return rms_norm(params, b, 0); }

int s_dl_rms_norm_s16_ref(const void *params, const qn_buffers *b) {
    return rms_norm(params, b, 1);
}

/* Sums of magnitudes are made in float32, which is exact up to 2^24. */
static float inverse_of(const qn_dl_norm *p, const qn_buffers *b, int64_t first, int is_wide) {
    if (p->p == 2) {
        const float sum = (float)squares_of(p, b, first, is_wide);
        return sum > 0 ? s_dl_div(1, qn_sqrt_f32(sum)) : 0;
    }
    float sum = 0;
    for (int32_t i = 0; i < p->size; i++) {
        const float x = (float)s_dl_at(b->in[0], first + (int64_t)i * p->inner, is_wide);
        sum = s_dl_sum(sum, x < 0 ? -x : x);
    }
    return sum > 0 ? s_dl_div(1, sum) : 0;
}

static int lp_norm(const qn_dl_norm *p, const qn_buffers *b, int is_wide) {
    const float scale = s_dl_power(-p->output_exponent);
    for (int64_t o = 0; o < p->outer; o++) {
        for (int64_t k = 0; k < p->inner; k++) {
            const int64_t first = o * p->size * p->inner + k;
            const float factor = s_dl_mul(inverse_of(p, b, first, is_wide), scale);
            for (int32_t i = 0; i < p->size; i++) {
                const int64_t at = first + (int64_t)i * p->inner;
                const float v = s_dl_mul((float)s_dl_at(b->in[0], at, is_wide), factor);
                s_dl_put(b->out, at, s_dl_round(v, p->chip), is_wide);
            }
        }
    }
    return QN_OK;
}

int s_dl_lp_norm_s8_ref(const void *params, const qn_buffers *b) { return lp_norm(params, b, 0); }

int s_dl_lp_norm_s16_ref(const void *params, const qn_buffers *b) { return lp_norm(params, b, 1); }
