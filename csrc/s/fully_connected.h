/* Fully connected layers of the s8 and s16 API (arm_fully_connected_s8, _per_channel_s8).
 *
 *   acc(n, o) = bias[o] + sum over c of (in[n][c] + input_offset) * (filter[o][c] + filter_offset)
 *   out[n][o] = clamp(requantize(acc, multiplier, shift) + output_offset, act_min, act_max)
 *
 * Sums are modulo 2^32. One pair of multiplier and shift stands in the parameters; of the op
 * fully_connected_per_channel each output has its own, as rows of the array `bias` (affine.h).
 *
 * Axes: vectors [n][c], filter [o][c], bias [o], output [n][o].
 * Ranges: batches, input_c and output_c 1..65535, input_offset and filter_offset -127..128,
 * output_offset -128..127, act_min <= act_max within the type, shift -31..30, multiplier from 0 on;
 * at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none. All core paths give the same bits. */
#ifndef QN_S_FULLY_CONNECTED_H
#define QN_S_FULLY_CONNECTED_H

#include "affine.h"

#endif
