/* Element-wise calls of ESP-DL on integers: Add, Sub, Mul, RequantizeLinear, Neg, Clip, PRelu, LUT.
 *
 *   add, sub     out = saturate(a + b), saturate(a - b): exponents are equal, or ignored
 *   mul          out = saturate(R(a * b / 2^right_shift)), right_shift = e_out - e_a - e_b
 *   requantize   out = saturate(R(x / 2^right_shift)), right_shift = e_out - e_in
 *   neg          out = saturate(-x)
 *   clip         out = saturate(R(clamp(x, low, high) / 2^right_shift))
 *   prelu        x >= 0: x; x < 0: floor(x * alpha / 2^alpha_right_shift), saturated: portable C,
 *                and 16 bits on every chip. 8 bits on an ESP32-S3 and ESP32-P4:
 *                R(x / 2^input_right_shift), R(x * alpha / 2^alpha_right_shift), saturated
 *   table        out = table[R((x + 32768) / step)], step = 65536 / (places - 1), or 1
 *
 * R is that of rounding.h. A negative shift multiplies. mul of 16 bits first rounds the product to
 * a float32, halves to even: in portable C; on an ESP32-S3 and ESP32-P4 where row_size is below 8,
 * as their vector kernels take rows of at least 16 bytes. row_size: the elements of the innermost
 * axis, after the axes on which both operands are alike were folded into one.
 * Example: 32767 * 32767 with right_shift 15 is 32766.00003, as a float32 32766; 8193 * 4097 =
 * 33566721 with right_shift 1 is 16783360.5, as a float32 16783360.
 *
 * Ranges: block_size and row_size 1..2^31 - 1 bytes; right_shift -31..31, of mul on an ESP32-S3
 * 0..31; of requantize of 8 bits on an ESP32-S3 and ESP32-P4 from -6 on, of the other types -14, as
 * their factor has the bits of an element; alpha_right_shift 0..31, input_right_shift -31..31.
 * In place: yes, requantize between two types not. Scratch: none. */
#ifndef QN_S_ESP_DL_ELEMENTWISE_H
#define QN_S_ESP_DL_ELEMENTWISE_H

#include "rounding.h"

#endif
