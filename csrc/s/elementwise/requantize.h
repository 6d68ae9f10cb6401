/* Changes of scale of TensorFlow Lite Micro: QUANTIZE of integers, RELU, LEAKY_RELU, and the
 * rescaled inputs of the uint8 CONCATENATION of TensorFlow Lite 1.15. With R for requantize() of
 * fixed.h:
 *
 *   requantize   out = clamp(R(x - input_zero_point, multiplier, shift) + output_zero_point, act_min,
 *                            act_max);  RELU is this, with act_min the zero point of the output
 *   leaky_relu   the same, without limits but the type's; where x < input_zero_point, with
 *                alpha_multiplier and alpha_shift, else with identity_multiplier and _shift; of an
 *                alpha_multiplier below 0 R of its negative, negated
 *   rescale_u8   out = clamp(qn_rescale_float32(x, factor, start) + output_zero_point, 0, 255)
 *
 * Axes: vectors of `length` elements, 0..2^30 - 1. factor = s_in * (1 / s_out) and start = -z_in *
 * factor, in float32, are two int32 of the array `weights`, as bits (qemu_nn/functions/scaling.py).
 * Ranges: zero points and limits within their types, of 32 bits those of outputs -2^30..2^30;
 * act_min <= act_max; multipliers not negative, but alpha_multiplier from -2^31 + 1 on; shifts
 * -31..14, so that of 8 and 16 bits nothing wraps; of 32 bits all is modulo 2^32.
 * In place or not, where the elements have the same size. Scratch: none.
 * Of all cores, as it is portable code; `single` is TensorFlow Lite Micro built with
 * TFLITE_SINGLE_ROUNDING, which goes with CMSIS_NN_USE_SINGLE_ROUNDING. */
#ifndef QN_S_REQUANTIZE_H
#define QN_S_REQUANTIZE_H

#include "../../common/elementary.h"
#include "../affine.h"

/* An integer type: bytes of an element, and its range. */
typedef struct s_type {
    int64_t element;
    int32_t low, high;
} s_type;

static const s_type s_type_s8 = {1, INT8_MIN, INT8_MAX};
static const s_type s_type_u8 = {1, 0, UINT8_MAX};
static const s_type s_type_s16 = {2, INT16_MIN, INT16_MAX};
static const s_type s_type_s32 = {4, INT32_MIN, INT32_MAX};

#endif
