/* CUMSUM of TensorFlow Lite Micro: sums along an axis so far, of 8 bits or of float32.
 *
 *   f32  out[o][k][i] = ((0 + in[o][0][i]) + in[o][1][i]) + ... + in[o][k][i], in float32 and this
 *        order
 *   s8   scaled(v) = requantize(v * 2^20, input_multiplier, input_shift), that of fixed.h
 *        sum(k) = scaled(-input_zero_point) + scaled(in[o][0][i] - input_zero_point) + ... +
 *                 scaled(in[o][k][i] - input_zero_point)
 *        out[o][k][i] = clamp(requantize(sum(k), output_multiplier, output_shift) +
 *                             output_zero_point, -128, 127)
 *   exclusive: out at k has the sum without in at k. reverse: the axis runs backwards.
 *
 * So an s8 sum starts at what an input of 0 adds, as the device's does. It wraps around in 32 bits,
 * after 16 inputs of the largest distance from the zero point at the earliest.
 * Axes: in and out [outer][side][inner].
 * Ranges: sides 1..2^31 - 1, at most 2^31 - 1 bytes in an array; exclusive and reverse 0 or 1; of
 * s8: zero points -128..127, multipliers 0..2^31 - 1, shifts -31..0.
 * In place: no. Scratch: none. All cores give the same bits; s8 has both roundings. */
#ifndef QN_S_CUMSUM_H
#define QN_S_CUMSUM_H

#include "movement.h"

#endif
