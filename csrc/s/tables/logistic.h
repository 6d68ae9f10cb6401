/* LOGISTIC and TANH of TensorFlow Lite Micro.
 *
 * 8 bits, with x = in - input_zero_point and f of elementary.h:
 *
 *   out = -128 where x <= -input_range_radius, 127 where x >= input_range_radius, else
 *   v = requantize(x, input_multiplier, input_left_shift) in Q4.27
 *   logistic  out = sat8(RDP(logistic_q4(v), 23) - 128)    of scale 1/256, zero point -128
 *   tanh      out = sat8(RDP(tanh_q4(v), 24))              of scale 1/128, zero point 0
 *
 * 16 bits, with the table of activation.h, scale 1/32768 and zero points 0:
 *
 *   v = x * input_multiplier + 2^(input_left_shift - 1) >> input_left_shift   (without the 2^... if 0)
 *   and input_multiplier 0 stands for 3 * 2^input_left_shift, without a shift after
 *
 * This is main of TensorFlow Lite Micro in 2026. LiteRT looks 8-bit outputs up in a table that it
 * makes with float32 functions, and is off by 1 here and there: of scale 1/256 and input_zero_point
 * 127, LOGISTIC makes -1 of 125, and 0 in LiteRT. Of 16 bits it has the same bits.
 * `single` is TFLITE_SINGLE_ROUNDING.
 *
 * Axes: vectors of `length` elements, 0..2^30 - 1.
 * Ranges, 8 bits: input_zero_point of the type, input_multiplier not negative, input_left_shift
 * 0..30, input_range_radius 0..15 * 2^27 >> input_left_shift, so that v is above -2^31.
 * 16 bits: input_multiplier 0..32767, input_left_shift 0..31, and 0..1 with multiplier 0.
 * In place or not. Scratch: none. All cores give the same bits. */
#ifndef QN_S_LOGISTIC_H
#define QN_S_LOGISTIC_H

#include "../../common/elementary.h"
#include "activation.h"

#endif
