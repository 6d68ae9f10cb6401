/* Matrix kernels with SMLAD: two rows of weights by two columns, four values of each at a time. */
#include "../common/arm_dsp.h"
#include "mat_mult.h"

static int check(const qn_mat_mult *p, const char *function, qn_sizes *sizes, char *why) {
    int status = qn_in_range("ch_im_out", p->ch_im_out, 1, UINT16_MAX, why);
    if (status == QN_OK) {
        status = qn_in_range("numCol_A", p->numCol_A, 1, UINT16_MAX, why);
    }
    if (status == QN_OK) {
        status = qn_shift_in_range("bias_shift", p->bias_shift, why);
    }
    if (status == QN_OK) {
        status = qn_shift_in_range("out_shift", p->out_shift, why);
    }
    if (status != QN_OK) {
        return status;
    }
    int is_mve590 = qn_path(p->profile) == QN_PATH_MVE && qn_release(p->profile) == QN_RELEASE_590;
    if (!qn_is_dsp(p->profile) && !is_mve590) {
        return qn_deny(why, QN_REFUSED,
                       "%s does nothing on a core without the DSP extension (it returns NULL)",
                       function);
    }
    sizes->in[0] = 2 * (int64_t)sizeof(int16_t) * p->numCol_A;
    sizes->weights = (int64_t)p->ch_im_out * p->numCol_A;
    sizes->bias = p->ch_im_out;
    sizes->out = 2 * (int64_t)p->ch_im_out;
    return QN_OK;
}

int q_mat_mult_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, "arm_nn_mat_mult_kernel_q7_q15", sizes, why);
}

int q_mat_mult_reordered_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_mat_mult *p = params;
    int status = check(p, "arm_nn_mat_mult_kernel_q7_q15_reordered", sizes, why);
    if (status == QN_OK && p->ch_im_out % 2 != 0) {
        return qn_deny(
            why, QN_REFUSED,
            "ch_im_out must be even, is %ld: the device would write after its arrays; use "
            "arm_nn_mat_mult_kernel_q7_q15",
            (long)p->ch_im_out);
    }
    return status;
}

/* Expand four weights to two words, in the order of the columns. */
static void expand(const int8_t *weights, int order, uint32_t *first, uint32_t *second) {
    if (order == Q_REORDERED) {
        arm_expand_reordered(arm_load(weights), first, second);
    } else {
        arm_expand(arm_load(weights), first, second);
    }
}

/* Add two rows of weights by two columns: acc[r][c], r and c 0..1. */
static void two_by_two(int32_t length, int order, const int8_t *weights, const int16_t *columns,
                       uint32_t acc[2][2]) {
    int32_t j = 0;
    for (; j + 4 <= length; j += 4) {
        for (int r = 0; r < 2; r++) {
            uint32_t first, second;
            expand(weights + r * length + j, order, &first, &second);
            for (int c = 0; c < 2; c++) {
                const int16_t *column = columns + c * length + j;
                acc[r][c] = arm_smlad(first, arm_load(column), acc[r][c]);
                acc[r][c] = arm_smlad(second, arm_load(column + 2), acc[r][c]);
            }
        }
    }
    for (; j < length; j++) {
        for (int r = 0; r < 2; r++) {
            for (int c = 0; c < 2; c++) {
                acc[r][c] += (uint32_t)(weights[r * length + j] * columns[c * length + j]);
            }
        }
    }
}

/* Return acc plus one row of weights by one column. */
static uint32_t one_by_one(int32_t length, int order, const int8_t *weights, const int16_t *column,
                           uint32_t acc) {
    int32_t j = 0;
    for (; j + 4 <= length; j += 4) {
        uint32_t first, second;
        expand(weights + j, order, &first, &second);
        acc = arm_smlad(first, arm_load(column + j), acc);
        acc = arm_smlad(second, arm_load(column + j + 2), acc);
    }
    for (; j < length; j++) {
        acc += (uint32_t)(weights[j] * column[j]);
    }
    return acc;
}

int8_t *q_mat_mult_two(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *columns, int8_t *out) {
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t rows = p->ch_im_out;
    int32_t length = p->numCol_A;
    int32_t r = 0;
    for (; r + 2 <= rows; r += 2, weights += 2 * length) {
        uint32_t even = qn_acc_start(bias[r], p->bias_shift, round_term);
        uint32_t odd = qn_acc_start(bias[r + 1], p->bias_shift, round_term);
        uint32_t acc[2][2] = {{even, even}, {odd, odd}};
        two_by_two(length, order, weights, columns, acc);
        for (int c = 0; c < 2; c++) {
            out[c * rows + r] = qn_acc_q7(acc[0][c], p->out_shift);
            out[c * rows + r + 1] = qn_acc_q7(acc[1][c], p->out_shift);
        }
    }
    if (r < rows) {
        uint32_t start = qn_acc_start(bias[r], p->bias_shift, round_term);
        for (int c = 0; c < 2; c++) {
            uint32_t acc = one_by_one(length, order, weights, columns + c * length, start);
            out[c * rows + r] = qn_acc_q7(acc, p->out_shift);
        }
    }
    return out + 2 * rows;
}

int8_t *q_mat_mult_one(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *column, int8_t *out) {
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t r = 0; r < p->ch_im_out; r++, weights += p->numCol_A) {
        uint32_t start = qn_acc_start(bias[r], p->bias_shift, round_term);
        uint32_t acc = one_by_one(p->numCol_A, order, weights, column, start);
        out[r] = qn_acc_q7(acc, p->out_shift);
    }
    return out + p->ch_im_out;
}

int q_mat_mult_q7_q15_dsp(const void *params, const qn_buffers *b) {
    q_mat_mult_two(params, Q_IN_ORDER, b->weights, b->bias, b->in[0], b->out);
    return QN_OK;
}

int q_mat_mult_reordered_q7_q15_dsp(const void *params, const qn_buffers *b) {
    q_mat_mult_two(params, Q_REORDERED, b->weights, b->bias, b->in[0], b->out);
    return QN_OK;
}
