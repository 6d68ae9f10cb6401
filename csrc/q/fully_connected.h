/* Fully connected layers (arm_fully_connected_q7, _q15, _mat_q7_vec_q15 and the _opt forms).
 *
 *   acc(r) = (bias[r] << bias_shift) + R(out_shift) + sum over j of W[r][j] * in[j]    modulo 2^32
 *   out[r] = saturate(floor(acc / 2^out_shift))
 *
 *            in    W, bias   out
 *   q7       q7    q7        q7
 *   q15      q15   q15       q15
 *   q7_q15   q15   q7        q15
 *
 * Axes: vector [j], weights [r][j], bias [r], output [r]. The _opt forms read W from a stream of
 * the same length, interleaved as q_fc_opt_index() defines.
 * Legal: dim_vec and num_of_rows 1..65535, shifts 0..31. In place: no. Scratch: only in the q7
 * models, vec_buffer with dim_vec values in q15. Scalar and DSP give the same bits. */
#ifndef QN_Q_FULLY_CONNECTED_H
#define QN_Q_FULLY_CONNECTED_H

#include "../common/contract.h"
#include "weighted_kernels.h"

/* The order of a group of columns of four rows in an _opt stream, named after the op's type. */
typedef enum q_fc_order { Q_FC_Q7, Q_FC_Q15, Q_FC_Q7_Q15 } q_fc_order;

/* Return the index of row r (0..3), column k of a group. SXTB16 reads bytes 0 and 2 of a word, or 1
 * and 3, and must find two columns of one row there:
 *   q7       4 columns, the vector reordered to 0 2 | 1 3
 *   q7_q15   2 columns
 *   q15      2 columns of halfwords, so one word per row */
static inline int32_t q_fc_place(q_fc_order order, int32_t r, int32_t k) {
    switch (order) {
        case Q_FC_Q7:
            return k % 2 * 8 + r / 2 * 4 + k / 2 * 2 + r % 2;
        case Q_FC_Q7_Q15:
            return r / 2 * 4 + k * 2 + r % 2;
        default:
            return r * 2 + k;
    }
}

/* Return the index of W[r][j] in an _opt stream. The stream has blocks of four rows: groups of
 * columns, then the columns after the last group, four rows each. The rows after the last block
 * follow in row-major order. */
static inline int64_t q_fc_opt_index(const qn_fc *p, q_fc_order order, int32_t r, int32_t j) {
    int32_t group = order == Q_FC_Q7 ? 4 : 2;
    int64_t row = (int64_t)r * p->dim_vec;
    if (r >= p->num_of_rows - p->num_of_rows % 4) {
        return row + j;
    }
    int64_t block = row - (int64_t)(r % 4) * p->dim_vec;
    if (j >= p->dim_vec - p->dim_vec % group) {
        return block + (int64_t)j * 4 + r % 4;
    }
    return block + (int64_t)(j - j % group) * 4 + q_fc_place(order, r % 4, j % group);
}

#endif
