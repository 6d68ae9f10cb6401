/* Matrix kernels (arm_nn_mat_mult_kernel_q7_q15, arm_nn_mat_mult_kernel_q7_q15_reordered).
 *
 *   acc(c, r)              = (bias[r] << bias_shift) + R(out_shift)
 *                            + sum over j of pA[r][j] * in[c][j]                     modulo 2^32
 *   out[c * ch_im_out + r] = saturate to q7 (floor(acc / 2^out_shift)),   c = 0, 1
 *
 * Axes: weights pA [r][j] q7, input two columns [c][j] q15, bias [r] q7, output [c][r] q7. In the
 * reordered kernel positions 1 and 2 of every full group of four j are exchanged in the columns (as
 * arm_q7_to_q15_reordered_no_shift leaves them), not in pA; numCol_A % 4 values follow in order.
 * Legal: ch_im_out and numCol_A 1..65535, reordered only with even ch_im_out, shifts 0..31. Columns
 * may hold all of q15: the sum wraps. Not in place. Scratch: none.
 * Only the DSP extension, and 5.9.0 on a core with MVE, has them: elsewhere both return NULL and
 * write nothing, so the contract refuses. */
#ifndef QN_Q_MAT_MULT_H
#define QN_Q_MAT_MULT_H

#include "../common/contract.h"
#include "weighted_kernels.h"

/* The order of the values in a q15 column, and so of the expanded weights. */
enum { Q_IN_ORDER, Q_REORDERED };

/* The kernels, for the convolutions too: two columns by all rows, pairs of rows at a time. Returns
 * the end of what it wrote, out + 2 * ch_im_out. */
int8_t *q_mat_mult_two(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *columns, int8_t *out);

/* The same for the single column that an odd number of pixels leaves. */
int8_t *q_mat_mult_one(const qn_mat_mult *p, int order, const int8_t *weights, const int8_t *bias,
                       const int16_t *column, int8_t *out);

#endif
