/* SQUARED_DIFFERENCE of TensorFlow Lite Micro, of two vectors. With R of tflm.h:
 *
 *   a   = R((x + input_1_offset) * 2^left_shift, input_1_mult, input_1_shift), and so b of y
 *   out = clamp(R((a - b)^2, out_mult, out_shift) + out_offset, act_min, act_max)
 *
 * Axes: vectors of block_size elements; at most 2^31 - 1 bytes.
 * Ranges: offsets -127..128 (inputs) and the type's (output) of 8 bits, 0 of 16; left_shift 0..7 of
 * 8 bits, 0 of 16; multipliers not negative; input shifts -31..0, and factors at most 1/2, so that
 * the square stays within 2^30; out_shift -31..30: above 0 a large square leaves 32 bits and wraps,
 * as the device's does.
 * In place or not. Scratch: none. Of all cores; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_DIFFERENCE_H
#define QN_S_DIFFERENCE_H

#include "requantize.h"
#include "tflm.h"

#endif
