/* The steps that the s8 and s16 API is made of, on vectors, plain. */
#include "primitives.h"

static int check(const qn_vector *p, int inputs, qn_sizes *sizes, char *why) {
    sizes->out = sizes->in[0] = (int64_t)p->length * 4;
    sizes->in[1] = inputs > 1 ? sizes->out : 0;
    sizes->in_place = 1;
    return qn_in_range("length", p->length, 0, (1 << 28) - 1, why);
}

int s_primitive_1_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int s_primitive_2_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

int s_primitive_requantize_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, 2, sizes, why);
    sizes->weights = sizes->out;
    return status;
}

int s_primitive_requantize64_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, 2, sizes, why);
    sizes->weights = sizes->out * 2;
    return status;
}

int s_nn_requantize_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0], *multiplier = b->in[1], *shift = b->weights;
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_requantize(p->profile, x[i], multiplier[i], s_shift(shift[i]));
    }
    return QN_OK;
}

int s_nn_requantize_s64_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *multiplier = b->in[0], *shift = b->in[1];
    const int64_t *x = b->weights;
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_requantize64_by16(x[i], multiplier[i], qn_clamp(shift[i], -31, 7));
    }
    return QN_OK;
}

int s_nn_doubling_high_mult_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0], *y = b->in[1];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_hm_sat(x[i], y[i]);
    }
    return QN_OK;
}

int s_nn_doubling_high_mult_no_sat_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0], *y = b->in[1];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_hm(x[i], y[i]);
    }
    return QN_OK;
}

int s_nn_divide_by_power_of_two_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0], *power = b->in[1];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_rdp(x[i], qn_clamp(power[i], 0, 31));
    }
    return QN_OK;
}

int s_nn_mult_by_power_of_two_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0], *power = b->in[1];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_shl_sat(x[i], qn_clamp(power[i], 0, 31));
    }
    return QN_OK;
}

int s_nn_exp_on_negative_values_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_exp_negative(x[i] < 0 ? x[i] : 0, 5);
    }
    return QN_OK;
}

int s_nn_one_over_one_plus_x_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *x = b->in[0];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_reciprocal(x[i] > 0 ? x[i] : 0);
    }
    return QN_OK;
}
