/* Operators of one tensor of TensorFlow Lite Micro, element by element.
 *
 *   abs      out = clamp(R(|x - input_zero_point|, multiplier, shift) + output_zero_point)
 *   rsqrt    v = x - input_zero_point: of 0 the type's largest number, else with r for
 *            s_inverse_root(v) and d = R(1, r.multiplier, r.shift + 20)
 *            out = clamp(R(d, multiplier, shift - 20) + output_zero_point)
 *   lookup   out = table[x + 128]: ELU, whose table is made of float32 (functions/tflm_tables.py)
 *
 * with R of tflm.h, clamped to act_min and act_max (the type's, as the operators have no others).
 * rsqrt of v < 0: the device's Invoke fails there, and so does the call: it returns QN_REFUSED.
 * Axes: vectors of `length` elements, 0..2^30 - 1; `weights`: table [256].
 * Ranges: zero points within the type; multipliers not negative; shift -31..14 of abs, -11..30 of
 * rsqrt: below, the device would shift by more than 31.
 * In place or not. Scratch: none. Of all cores; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_UNARY_H
#define QN_S_UNARY_H

#include "requantize.h"
#include "tflm.h"

#endif
