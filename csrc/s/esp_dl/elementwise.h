/* Element-wise calls of ESP-DL: Add, Sub, Mul, RequantizeLinear.
 *
 *   add, sub     out = saturate(a + b), saturate(a - b): exponents are equal, or ignored
 *   mul          out = saturate(R(a * b / 2^right_shift)), right_shift = e_out - e_a - e_b
 *   requantize   out = saturate(R(x / 2^right_shift)), right_shift = e_out - e_in
 *
 * R is that of rounding.h. A negative shift multiplies. mul of 16 bits first rounds the product to
 * a float32, halves to even: in portable C; on an ESP32-S3 and ESP32-P4 where row_size is below 8,
 * as their vector kernels take rows of at least 16 bytes. row_size: the elements of the innermost
 * axis, after the axes on which both operands are alike were folded into one.
 * Example: 181 * 18101 = 3276281 with shift 1: the float32 of it is exact; 32767 * 32767 with shift
 * 15 is 32766.00003 and as a float32 32766.
 *
 * Ranges: block_size and row_size 1..2^31 - 1 bytes; right_shift -31..31, of mul on an ESP32-S3
 * 0..31.
 * In place: yes, requantize between two types not. Scratch: none. */
#ifndef QN_S_ESP_DL_ELEMENTWISE_H
#define QN_S_ESP_DL_ELEMENTWISE_H

#include "rounding.h"

#endif
