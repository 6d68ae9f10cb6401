/* Conversions of q7 vectors to q15 on the DSP path, four values at a time: for im2col columns and
 * the vec_buffer of fully connected layers. */
#ifndef QN_Q_WIDEN_H
#define QN_Q_WIDEN_H

#include <stdint.h>

void q_widen_in_order(const int8_t *in, int32_t length, int16_t *out);

/* Convert with positions 1 and 2 of every full group of four exchanged: this order needs no packing
 * instructions. */
void q_widen_reordered(const int8_t *in, int32_t length, int16_t *out);

#endif
