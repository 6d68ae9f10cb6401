/* Fully connected layers with interleaved weights, plain: each weight is read at its stream
 * index. */
#include "fully_connected.h"

int q_fully_connected_opt_q7_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int8_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        for (int32_t j = 0; j < p->dim_vec; j++) {
            acc += (uint32_t)(weights[q_fc_opt_index(p, Q_FC_Q7, r, j)] * in[j]);
        }
        out[r] = qn_acc_q7(acc, p->out_shift);
    }
    return QN_OK;
}

int q_fully_connected_opt_q15_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        for (int32_t j = 0; j < p->dim_vec; j++) {
            acc += (uint32_t)(weights[q_fc_opt_index(p, Q_FC_Q15, r, j)] * in[j]);
        }
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
    return QN_OK;
}

int q_fully_connected_opt_q7_q15_ref(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->num_of_rows; r++) {
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        for (int32_t j = 0; j < p->dim_vec; j++) {
            acc += (uint32_t)(weights[q_fc_opt_index(p, Q_FC_Q7_Q15, r, j)] * in[j]);
        }
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
    return QN_OK;
}
