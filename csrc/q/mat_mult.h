/* Matrix kernels (arm_nn_mat_mult_kernel_q7_q15, arm_nn_mat_mult_kernel_q7_q15_reordered).
 *
 *   acc(c, r)              = (bias[r] << bias_shift) + R(out_shift)
 *                            + sum over j of pA[r][j] * in[c][j]                     modulo 2^32
 *   out[c * ch_im_out + r] = saturate to q7 (floor(acc / 2^out_shift)),   c = 0, 1
 *
 * Axes: weights pA [r][j] q7, input two columns [c][j] q15, bias [r] q7, output [c][r] q7. The
 * reordered kernel exchanges positions 1 and 2 of every full group of four j in the columns, not in
 * pA. arm_q7_to_q15_reordered_no_shift gives this order; the last numCol_A % 4 values are in order.
 * Legal: ch_im_out and numCol_A 1..65535, reordered only with even ch_im_out, shifts 0..31. Columns
 * may have any q15 value: the sum wraps. In place: no. Scratch: none.
 * Only the DSP extension, and 5.9.0 on a core with MVE, have these kernels. On every other core
 * both return NULL and write nothing, so the contract refuses. */
#ifndef QN_Q_MAT_MULT_H
#define QN_Q_MAT_MULT_H

#include "../common/contract.h"
#include "weighted_kernels.h"

/* The order of the values in a q15 column, and in the expanded weights. */
enum { Q_IN_ORDER, Q_REORDERED };

/* Multiply two columns by all rows, two rows at a time, also for the convolutions. Return the end
 * of the output, out + 2 * ch_im_out. */
int8_t *q_mat_mult_two(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *columns, int8_t *out);

/* Multiply likewise one column, the last one of an odd number of pixels. */
int8_t *q_mat_mult_one(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *column, int8_t *out);

#endif
