/* ADD_N and L2_NORMALIZATION of TensorFlow Lite Micro, of 8 bits. With R of tflm.h:
 *
 *   add_n    `count` vectors of one format, one after the other, and once more their zero point:
 *            s = (sum of (x - input_zero_point) - input_zero_point) * 2^19
 *            out = sat8(R(s, multiplier, shift) + output_zero_point)
 *   l2_norm  of each row, with v = x - input_zero_point and r = s_inverse_root(sum of v^2):
 *            out = sat8(R(v, r.multiplier, r.shift + 7)), of scale 1/128 and zero point 0
 *
 * Axes: add_n [count, length] to [length], count 1..15, so that s stays inside of 32 bits; l2_norm
 * num_rows rows of row_size elements, row_size 1..33025, for the same. At most 2^31 - 1 elements.
 * Ranges: zero points of the type; multiplier not negative; shift -31..0.
 * add_n not in place; l2_norm in place or not. Scratch: none. Of all cores; `single` is
 * TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_SUMS_H
#define QN_S_SUMS_H

#include "tflm.h"

#endif
