/* PRELU of TensorFlow Lite Micro, of 8 and 16 bits: a slope for each element, or the same again and
 * again (prelu), or slopes that are computed (prelu_tensor).
 *
 *   x >= input_zero_point   out = R(x - input_zero_point, identity_multiplier, identity_shift)
 *   else                    out = R((x - input_zero_point) * (alpha - alpha_zero_point),
 *                                   alpha_multiplier, alpha_shift)
 *
 * and that + output_zero_point, clamped to the type, with R for requantize() of fixed.h.
 * Axes: input and output [outer, inner], at most 2^31 - 1 bytes; `weights`: alpha [inner], of 8
 * bits; of prelu_tensor in[1]: alpha [outer, inner], of 8 bits.
 * Ranges: zero points within the type, of 16 bits 0 (alpha's of 8 bits); multipliers not negative;
 * shifts -31..14, of alpha and 16 bits -31..7: a product has 17 or 24 bits with its sign, so that
 * nothing wraps. In place or not, but prelu_tensor. Scratch: none.
 * Of all cores, as it is portable code; `single` is TensorFlow Lite Micro built with
 * TFLITE_SINGLE_ROUNDING, which goes with CMSIS_NN_USE_SINGLE_ROUNDING. */
#ifndef QN_S_PRELU_H
#define QN_S_PRELU_H

#include "kernels.h"
#include "requantize.h"

#endif
