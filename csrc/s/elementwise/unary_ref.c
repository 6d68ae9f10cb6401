/* ABS, RSQRT, and what is looked up, plain. */
#include "unary.h"

static int check(const qn_s_requantize *p, s_type type, int32_t low, int32_t high, qn_sizes *sizes,
                 char *why) {
    const s_range all[] = {
        {"length", p->length, 0, (1 << 30) - 1},
        {"input_zero_point", p->input_zero_point, type.low, type.high},
        {"output_zero_point", p->output_zero_point, type.low, type.high},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, low, high},
        {"act_min", p->act_min, type.low, type.high},
        {"act_max", p->act_max, p->act_min, type.high},
    };
    sizes->in[0] = sizes->out = p->length * type.element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_abs_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s8, -31, 14, sizes, why);
}

int s_abs_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s16, -31, 14, sizes, why);
}

int s_rsqrt_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s8, -11, 30, sizes, why);
}

int s_rsqrt_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s16, -11, 30, sizes, why);
}

static int32_t output(const qn_s_requantize *p, int32_t x, int32_t shift) {
    int32_t scaled = s_tflm_requantize(p->profile, x, p->multiplier, shift);
    return qn_clamp(qn_add32(scaled, p->output_zero_point), p->act_min, p->act_max);
}

static int32_t absolute(const qn_s_requantize *p, int32_t x) {
    int32_t value = x - p->input_zero_point;
    return output(p, value < 0 ? -value : value, p->shift);
}

/* v: above 0. */
static int32_t inverse_root(const qn_s_requantize *p, int32_t v) {
    const s_root root = s_inverse_root(v);
    int32_t data = s_tflm_requantize(p->profile, 1, root.multiplier, root.shift + 20);
    return output(p, data, p->shift - 20);
}

int s_abs_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)absolute(p, in[i]);
    }
    return QN_OK;
}

int s_abs_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)absolute(p, in[i]);
    }
    return QN_OK;
}

int s_rsqrt_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t v = in[i] - p->input_zero_point;
        if (v < 0) {
            return QN_REFUSED;
        }
        out[i] = (int8_t)(v == 0 ? INT8_MAX : inverse_root(p, v));
    }
    return QN_OK;
}

int s_rsqrt_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t v = in[i] - p->input_zero_point;
        if (v < 0) {
            return QN_REFUSED;
        }
        out[i] = (int16_t)(v == 0 ? INT16_MAX : inverse_root(p, v));
    }
    return QN_OK;
}

int s_lookup_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[0] = sizes->out = p->length;
    sizes->weights = 256;
    sizes->in_place = 1;
    return qn_in_range("length", p->length, 0, INT32_MAX, why);
}

int s_lookup_s8_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0], *table = b->weights;
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = table[in[i] + 128];
    }
    return QN_OK;
}
