/* Fully connected layers, plain. */
#include "dot.h"
#include "fully_connected.h"

static int check(const qn_fc *p, int64_t vector, int64_t weight, qn_sizes *sizes, char *why) {
    int status = qn_in_range("dim_vec", p->dim_vec, 1, UINT16_MAX, why);
    if (status == QN_OK) {
        status = qn_in_range("num_of_rows", p->num_of_rows, 1, UINT16_MAX, why);
    }
    if (status == QN_OK) {
        status = qn_shift_in_range("bias_shift", p->bias_shift, why);
    }
    if (status == QN_OK) {
        status = qn_shift_in_range("out_shift", p->out_shift, why);
    }
    if (status == QN_OK) {
        sizes->in[0] = p->dim_vec * vector;
        sizes->weights = p->num_of_rows * weight * p->dim_vec;
        sizes->bias = p->num_of_rows * weight;
        sizes->out = p->num_of_rows * vector;
    }
    return status;
}

int q_fully_connected_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, 1, sizes, why);
}

int q_fully_connected_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, 2, sizes, why);
}

int q_fully_connected_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, 1, sizes, why);
}

int q_fully_connected_q7_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int8_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++, weights += p->dim_vec) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        acc += q_dot_q7(weights, in, p->dim_vec);
        out[r] = qn_acc_q7(acc, p->out_shift);
    }
    return QN_OK;
}

int q_fully_connected_q15_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++, weights += p->dim_vec) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        acc += q_dot_q15(weights, in, p->dim_vec);
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
    return QN_OK;
}

int q_fully_connected_q7_q15_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++, weights += p->dim_vec) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        acc += q_dot_q7_q15(weights, in, p->dim_vec);
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
    return QN_OK;
}
