/* DIV of TensorFlow Lite Micro, of two vectors of 8 bits. With R of tflm.h:
 *
 *   v   = x - input_1_zero_point, w = y - input_2_zero_point; where w < 0 both change their signs
 *   1/w = r * 2^(-31 - k): r = reciprocal(w * 2^z - 2^31) of elementary.h, z the zeros before w of 32
 *         bits, k = 31 - z
 *   n   = the bits of v that only repeat its sign: 23 of 255, 30 of 1, 31 of 0 and -1
 *   out = clamp(R(R(v, r, n), multiplier, shift - k - n) + output_zero_point, act_min, act_max)
 *
 * A device stops, and the call returns QN_REFUSED, where w = 0, where shift - k - n is not -31..0
 * (small numerators: of 0 it must be shift >= k), and of single rounding where n = 31. Builds
 * without the device's own checks (NDEBUG) shift by more than 31 there, which no one has defined.
 * Axes: vectors of `length` elements, 0..2^31 - 1.
 * Ranges: zero points -256..255 (of TensorFlow Lite Micro within the type) and the type's (output);
 * multiplier not negative; shift -31..30; act_min <= act_max within the type.
 * In place or not. Scratch: none. Of all cores; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_DIVIDE_H
#define QN_S_DIVIDE_H

#include "../../common/elementary.h"
#include "tflm.h"

#endif
