/* Fully connected layers of the s8 and s16 API (arm_fully_connected_s8, _per_channel_s8,
 * _wrapper_s8, _s16, _s4).
 *
 *   acc(n, o) = bias[o] + sum over c of (in[n][c] + input_offset) * (filter[o][c] + filter_offset)
 *   out[n][o] = clamp(requantize(acc, multiplier, shift) + output_offset, act_min, act_max)
 *
 * Sums are modulo 2^32. One pair of multiplier and shift stands in the parameters; of the op
 * fully_connected_per_channel each output has its own, as rows of the array `bias` (affine.h).
 * s4: filters of four bits, two in a byte, the whole matrix in a row, the low half first;
 * filter_offset is ignored. s16: 16-bit vectors, filters of 8 bits, a bias of 64; all offsets are
 * ignored, sums and requantize64() have 64 bits. s16_s32: the same with a bias of 32, sums modulo
 * 2^32 and requantize(), as TensorFlow Lite Micro's reference kernel has it, of all cores alike.
 *
 * Axes: vectors [n][c], filter [o][c], bias [o], output [n][o].
 * Ranges: batches, input_c and output_c 1..65535, input_offset and filter_offset -127..128,
 * output_offset -2^30..2^30 (affine.h), act_min <= act_max within the type, shift -31..30 (s16:
 * -31..7), multiplier from 0 on; at most 2^31 - 1 bytes in an array. is_per_channel on Helium:
 * filter_offset 0, as Arm's code takes the pairs of other outputs there. What check() cannot see:
 * s8 on Helium in a build for single rounding, which doubles sums first, has sums below 2^(30 -
 * shift) if shift >= 0; larger ones saturate on all other cores (7.0.0: fixed.h).
 * In place: no. Scratch: none.
 *
 * fully_connected_tensor: the same of s8, s16 and s16_s32 with the filter in in[1] and the bias in
 * in[2], as TensorFlow Lite Micro takes computed ones.
 *
 * s16: cores with the DSP extension and Helium have the sum of the first 512 products in 32 bits.
 * That is less than the sum only where all of them are 2^22: 512 times -32768 * -128, multiplier
 * 2^30, shift -15, give -32768 there, 32767 elsewhere. All else is the same on all cores. */
#ifndef QN_S_FULLY_CONNECTED_H
#define QN_S_FULLY_CONNECTED_H

#include "../affine.h"
#include "kernels.h"

#endif
