/* PRELU of TensorFlow Lite Micro, of 8 bits: a slope for each element, or the same again and again.
 *
 *   x >= input_zero_point   out = R(x - input_zero_point, identity_multiplier, identity_shift)
 *   else                    out = R((x - input_zero_point) * (alpha - alpha_zero_point),
 *                                   alpha_multiplier, alpha_shift)
 *
 * and that + output_zero_point, clamped to the type, with R for requantize() of fixed.h.
 * Axes: input and output [outer, inner], outer * inner at most 2^30 - 1; `weights`: alpha [inner].
 * Ranges: zero points within the type; multipliers not negative; shifts -31..14: a product has 17
 * bits with its sign, so that nothing wraps. In place or not. Scratch: none.
 * Of all cores, as it is portable code; `single` is TensorFlow Lite Micro built with
 * TFLITE_SINGLE_ROUNDING, which goes with CMSIS_NN_USE_SINGLE_ROUNDING. */
#ifndef QN_S_PRELU_H
#define QN_S_PRELU_H

#include "requantize.h"

#endif
