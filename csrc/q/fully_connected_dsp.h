/* Rows of a fully connected layer from first_row on, row-major, with SMLAD: all rows of the plain
 * functions, and the rows after the blocks of four of the _opt functions. Row r starts at
 * r * dim_vec in both, because a block fills its four rows of the stream. The q7 rows read the
 * widened vector from scratch. */
#ifndef QN_Q_FULLY_CONNECTED_DSP_H
#define QN_Q_FULLY_CONNECTED_DSP_H

#include "fully_connected.h"

void q_fc_rows_q7(const qn_fc *p, const qn_buffers *b, int32_t first_row);
void q_fc_rows_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row);
void q_fc_rows_q7_q15(const qn_fc *p, const qn_buffers *b, int32_t first_row);

#endif
