/* LSTM over a sequence, unidirectional (arm_lstm_unidirectional_s8, _s16). For each time step, each
 * batch, and each gate G of forget, input_gate, cell, output_gate, with h the output of the step
 * before, R for requantize() and sat for saturation to int16:
 *
 *   g    = sat(R(G_input_weights x + G_input_effective_bias, G_input_...))
 *   g    = sat(R(G_hidden_weights h + G_hidden_effective_bias, G_hidden_...) + g)  if there is an h
 *   G    = sigmoid(g) or tanh(g) of activation.h, left_shift 0
 *   c    = sat(R(forget * c, forget_to_cell_...))
 *   c    = clamp(R(input_gate * cell, input_to_cell_...) + c, -cell_clip, cell_clip)
 *   out  = clamp(R(output_gate * tanh(c), output_...) + output_offset), left_shift of that tanh
 *          cell_scale_power + 12, to the type of the data
 *
 * cell_clip 0 does not clip. Data s8 or s16, weights s8; the effective biases hold the zero points:
 * bias - zero point * sum of weights. s8: sums modulo 2^32, int32 biases. s16: 64-bit sums and
 * requantize64() in the gates, int64 biases.
 *
 * in[1] is the cell state and in[2] the hidden state, if there are such arrays: with a hidden state
 * both are read first, and h of the first step is that; without one the cell state starts at 0 and
 * the first step has no h. Both are written at the end, the hidden state as the last output. A cell
 * state without an array is scratch memory; a hidden state needs one with an array. 7.0.0
 * takes no hidden state: with one the call is refused, unless has_hidden_state is 2: then the call
 * is TensorFlow Lite Micro's own kernel. That has both states in every release, and saturates each
 * term of a sum to int16, not the sum alone: R(G_hidden_weights h ...) and R(input_gate * cell
 * ...).
 *
 * Axes: in [time][batch][i], or [batch][time][i] without time_major, out the same, states
 * [batch][j]. `weights`: of each gate input [j][i], then hidden [j][j]; `bias`: of each gate
 * input [j], then hidden [j].
 * Ranges: sides 1..65535, has_cell_state and time_major and types 0..1, has_hidden_state 0..2,
 * cell_clip 0..32767, cell_scale_power -42..2, output_offset -2^30..2^30 (affine.h), multipliers
 * from 0 on, shifts of the gates -31..30 (s16: -31..7), the three others -31..-1; at most 2^31 - 1
 * bytes in an array. In place: no. Scratch: the cell state, if it has no array.
 *
 * s8 with single rounding and a gate's shift >= 0: Helium doubles sums first, modulo 2^32, but for
 * the last hidden_size % 4. s16: as wide_sum.h says; there Helium has the bias in 32 bits too: one
 * of 2^32 counts nothing. All else is the same on all cores. */
#ifndef QN_S_LSTM_H
#define QN_S_LSTM_H

#include "../affine.h"
#include "kernels.h"

/* has_hidden_state of TensorFlow Lite Micro's own kernel. */
enum { S_LSTM_OWN = 2 };

/* Bytes of the cell state in scratch memory. */
static inline int64_t s_lstm_state_bytes(const qn_s_lstm *p) {
    return p->has_cell_state ? 0 : (int64_t)p->batch_size * p->hidden_size * 2;
}

#endif
