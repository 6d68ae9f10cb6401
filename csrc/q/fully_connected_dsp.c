/* Fully connected layers as the DSP extension computes them, from row-major weights. The device
 * computes two rows at a time to load the vector once. Rows are independent, so this model computes
 * one at a time. */
#include "fully_connected_dsp.h"

#include "../common/arm_dsp.h"
#include "widen.h"

void q_fc_rows_q7(const qn_fc *p, const qn_buffers *b, int32_t first_row) {
    const int16_t *vector = b->scratch;
    const int8_t *bias = b->bias;
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = first_row; r < p->num_of_rows; r++) {
        const int8_t *weights = (const int8_t *)b->weights + (int64_t)r * p->dim_vec;
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        int32_t j = 0;
        for (; j + 4 <= p->dim_vec; j += 4) {
            uint32_t first, second;
            arm_expand_reordered(arm_load(weights + j), &first, &second);
            acc = arm_smlad(first, arm_load(vector + j), acc);
            acc = arm_smlad(second, arm_load(vector + j + 2), acc);
        }
        for (; j < p->dim_vec; j++) {
            acc += (uint32_t)(weights[j] * vector[j]);
        }
        out[r] = qn_acc_q7(acc, p->out_shift);
    }
}

void q_fc_rows_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row) {
    const int16_t *in = b->in[0];
    const int16_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = first_row; r < p->num_of_rows; r++) {
        const int16_t *weights = (const int16_t *)b->weights + (int64_t)r * p->dim_vec;
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        int32_t j = 0;
        for (; j + 2 <= p->dim_vec; j += 2) {
            acc = arm_smlad(arm_load(weights + j), arm_load(in + j), acc);
        }
        if (j < p->dim_vec) {
            acc += (uint32_t)(weights[j] * in[j]);
        }
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
}

void q_fc_rows_q7_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row) {
    const int16_t *in = b->in[0];
    const int8_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = first_row; r < p->num_of_rows; r++) {
        const int8_t *weights = (const int8_t *)b->weights + (int64_t)r * p->dim_vec;
        uint32_t acc = qn_acc_start(bias[r], p->bias_shift, round_term);
        int32_t j = 0;
        for (; j + 4 <= p->dim_vec; j += 4) {
            uint32_t first, second;
            arm_expand(arm_load(weights + j), &first, &second);
            acc = arm_smlad(first, arm_load(in + j), acc);
            acc = arm_smlad(second, arm_load(in + j + 2), acc);
        }
        for (; j < p->dim_vec; j++) {
            acc += (uint32_t)(weights[j] * in[j]);
        }
        out[r] = qn_acc_q15(acc, p->out_shift);
    }
}

int q_fully_connected_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    q_widen_reordered(b->in[0], p->dim_vec, b->scratch);
    q_fc_rows_q7(p, b, 0);
    return QN_OK;
}

int q_fully_connected_q15_dsp(const void *params, const qn_buffers *b) {
    q_fc_rows_q15(params, b, 0);
    return QN_OK;
}

int q_fully_connected_q7_q15_dsp(const void *params, const qn_buffers *b) {
    q_fc_rows_q7_q15(params, b, 0);
    return QN_OK;
}

int64_t q_fully_connected_vector(const void *params) {
    const qn_fc *p = params;
    return (int64_t)sizeof(int16_t) * p->dim_vec;
}
