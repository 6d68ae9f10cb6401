/* Row-major rows first_row.. of a fully connected layer with SMLAD: all rows of the plain
 * functions, and those that the blocks of four of the _opt functions leave over. (A block fills its
 * four rows of the stream, so row r starts at r * dim_vec in both.) The q7 rows take the widened
 * vector from the scratch. */
#ifndef QN_Q_FULLY_CONNECTED_DSP_H
#define QN_Q_FULLY_CONNECTED_DSP_H

#include "fully_connected.h"

void q_fc_rows_q7(const qn_fc *p, const qn_buffers *b, int32_t first_row);
void q_fc_rows_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row);
void q_fc_rows_q7_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row);

#endif
