/* Fully connected layers as the DSP extension computes them from interleaved weights: one pass over
 * the stream, and each group of columns multiplies four rows. */
#include "../common/arm_dsp.h"
#include "fully_connected_dsp.h"
#include "widen.h"

/* Add two columns of rows 0 and 1: bytes 0 and 2 of the weights belong to row 0, bytes 1 and 3 to
 * row 1. */
static void two_rows(const int8_t *weights, uint32_t columns, uint32_t acc[2]) {
    uint32_t word = arm_load(weights);
    acc[0] = arm_smlad(arm_sxtb16(word), columns, acc[0]);
    acc[1] = arm_smlad(arm_sxtb16_ror8(word), columns, acc[1]);
}

/* Add a column after the last group. */
static void four_rows(const int8_t *weights, int32_t column, uint32_t acc[4]) {
    for (int r = 0; r < 4; r++) {
        acc[r] += (uint32_t)(weights[r] * column);
    }
}

int q_fully_connected_opt_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    const int16_t *vector = b->scratch;
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    q_widen_reordered(b->in[0], p->dim_vec, b->scratch);
    int32_t row = 0;
    for (; row + 4 <= p->num_of_rows; row += 4) {
        uint32_t acc[4];
        for (int r = 0; r < 4; r++) {
            acc[r] = qn_acc_start(bias[row + r], p->bias_shift, round_term);
        }
        int32_t j = 0;
        for (; j + 4 <= p->dim_vec; j += 4, weights += 16) {
            uint32_t even = arm_load(vector + j);    /* columns 0 2 */
            uint32_t odd = arm_load(vector + j + 2); /* columns 1 3 */
            two_rows(weights, even, acc);
            two_rows(weights + 4, even, acc + 2);
            two_rows(weights + 8, odd, acc);
            two_rows(weights + 12, odd, acc + 2);
        }
        for (; j < p->dim_vec; j++, weights += 4) {
            four_rows(weights, vector[j], acc);
        }
        for (int r = 0; r < 4; r++) {
            out[row + r] = qn_acc_q7(acc[r], p->out_shift);
        }
    }
    q_fc_rows_q7(p, b, row);
    return QN_OK;
}

int q_fully_connected_opt_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t row = 0;
    for (; row + 4 <= p->num_of_rows; row += 4) {
        uint32_t acc[4];
        for (int r = 0; r < 4; r++) {
            acc[r] = qn_acc_start(bias[row + r], p->bias_shift, round_term);
        }
        int32_t j = 0;
        for (; j + 2 <= p->dim_vec; j += 2, weights += 8) {
            for (int r = 0; r < 4; r++) {
                acc[r] = arm_smlad(arm_load(weights + 2 * r), arm_load(in + j), acc[r]);
            }
        }
        for (; j < p->dim_vec; j++, weights += 4) {
            for (int r = 0; r < 4; r++) {
                acc[r] += (uint32_t)(weights[r] * in[j]);
            }
        }
        for (int r = 0; r < 4; r++) {
            out[row + r] = qn_acc_q15(acc[r], p->out_shift);
        }
    }
    q_fc_rows_q15(p, b, row);
    return QN_OK;
}

int q_fully_connected_opt_q7_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_fc *p = params;
    const int16_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t row = 0;
    for (; row + 4 <= p->num_of_rows; row += 4) {
        uint32_t acc[4];
        for (int r = 0; r < 4; r++) {
            acc[r] = qn_acc_start(bias[row + r], p->bias_shift, round_term);
        }
        int32_t j = 0;
        for (; j + 2 <= p->dim_vec; j += 2, weights += 8) {
            two_rows(weights, arm_load(in + j), acc);
            two_rows(weights + 4, arm_load(in + j), acc + 2);
        }
        for (; j < p->dim_vec; j++, weights += 4) {
            four_rows(weights, in[j], acc);
        }
        for (int r = 0; r < 4; r++) {
            out[row + r] = qn_acc_q15(acc[r], p->out_shift);
        }
    }
    q_fc_rows_q7_q15(p, b, row);
    return QN_OK;
}
