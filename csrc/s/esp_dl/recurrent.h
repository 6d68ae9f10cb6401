/* GRU and LSTM of ESP-DL: gates in steps of 2^gate_exponent, of 16 bits, states of the type of the
 * input. Each direction has its own weights, biases and states; the second one starts at the last
 * time step.
 *
 *   a = dot(W, x) + wb,  b = dot(R, h) + rb, of 16 bits, sums wrap; S, T: tables below
 *   GRU    z, r = S(a + b) of the first two thirds;  n = T(R(a + r * b)) of the last
 *          h = saturate(R((1 - z) * n * 2^-output_exponent + z * h))
 *   LSTM   i, o, f, g: S, S, S, T of (a + b), in this order of rows
 *          c = R(f * c + i * g * 2^-gate_exponent), of 16 bits, wraps
 *          h = saturate(R(o * T(c) * 2^-output_exponent))
 *   S(k) = sigmoid(x), x = min(|k|, most) * 2^gate_exponent, 1 less that where k < 0, with
 *   most = int(float32(6.3) * 2^-gate_exponent) + 1;  T: tanh and float32(3.5), with the sign of k
 *   dot = saturate(R(sum * 2^-right_shift)), where sum becomes a float32 first: in portable C; on
 *   an ESP32-S3 and ESP32-P4 where the row is no multiple of 16 elements (16 bits: 8), or the shift
 *   is negative. Otherwise vector kernels shift the sum of 40 bits, which saturates after each 16
 *   (8) products
 * Example: a sum of 2^28 + 8191 with right_shift 14 is 16385 as a float32, 16384 as an integer.
 *
 * R is that of floats.h; sigmoid and tanh are its curves. Each operation of floats is rounded.
 * Axes: in[0] [time_steps][input_size]; in[1] the first h, [directions][hidden_size]; LSTM: in[2]
 * the first c, int16. weights: W [directions][gates * hidden_size][input_size], then R
 * [directions][gates * hidden_size][hidden_size]; bias int16: for each direction wb, then rb. out:
 * [time_steps][directions][hidden_size]; cell 1: the last c, [directions][hidden_size].
 * Ranges: sizes 1..65535, directions 1..2, shifts -30..30, gate_exponent -15..0.
 * In place: no. Scratch: gates and states. */
#ifndef QN_S_ESP_DL_RECURRENT_H
#define QN_S_ESP_DL_RECURRENT_H

#include "floats.h"

#endif
