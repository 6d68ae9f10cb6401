/* Products with a shift, plain. */
#include "mult.h"

int q_nn_mult_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_mult_check(params, 1, sizes, why);
}

int q_nn_mult_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_mult_check(params, 2, sizes, why);
}

int q_nn_mult_q7_ref(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(qn_asr(qn_wrap16(x[i] * y[i] + round_term), p->out_shift));
    }
    return QN_OK;
}

int q_nn_mult_q15_ref(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(qn_asr(qn_add32(x[i] * y[i], round_term), p->out_shift));
    }
    return QN_OK;
}

/* Shift as 5.6.0: arithmetic without a rounding term, logical with one. */
static int32_t shift_560(const qn_mult *p, int32_t product) {
    if (qn_rounding(p->profile) == QN_TRUNCATE) {
        return qn_asr(product, p->out_shift);
    }
    uint32_t sum = (uint32_t)product + (uint32_t)qn_round_term(p->profile, p->out_shift);
    return qn_wrap32(qn_lsr(sum, p->out_shift));
}

int q_nn_mult_q7_ref560(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(shift_560(p, x[i] * y[i]));
    }
    return QN_OK;
}

int q_nn_mult_q15_ref560(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(shift_560(p, x[i] * y[i]));
    }
    return QN_OK;
}

/* Shift as 5.4.0: the rounding term of a shift of 0 is 0. */
static int32_t shift_540(const qn_mult *p, int32_t product) {
    return qn_asr(qn_add32(product, qn_round_term(p->profile, p->out_shift)), p->out_shift);
}

int q_nn_mult_q7_ref540(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8(shift_540(p, x[i] * y[i]));
    }
    return QN_OK;
}

int q_nn_mult_q15_ref540(const void *params, const qn_buffers *b) {
    const qn_mult *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat16(shift_540(p, x[i] * y[i]));
    }
    return QN_OK;
}

int q_mult_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_mult *)params)->length};
    return QN_OK;
}
