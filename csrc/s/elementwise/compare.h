/* Comparisons, logic and choices of TensorFlow Lite Micro, element by element. A truth value is a
 * byte, 0 or 1; what is not 0 counts as 1. With R of tflm.h:
 *
 *   compare s8   out = a <kind> b, a = R((x + input_1_offset) * 2^8, input_1_mult, input_1_shift), and so
 *                b of y, rounded: other numbers may count as equal
 *   compare b8   the same of the truth values
 *                kind: 0 equal, 1 not equal, 2 greater, 3 greater or equal, 4 less, 5 less or equal
 *   logical_and, logical_or, logical_not  of truth values
 *   select       out = condition ? x : y, of elements of 1, 2 or 4 bytes
 *   maximum, minimum s16   the larger or smaller of x and y
 *
 * Axes: vectors of `length` elements, at most 2^31 - 1 bytes.
 * Ranges: offsets -127..128; multipliers not negative; shifts -31..0; kind 0..5, of truth values 0
 * or 1. In place or not where the elements have one size; select not in place. Scratch: none. All
 * cores give the same bits; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_COMPARE_H
#define QN_S_COMPARE_H

#include "tflm.h"

#endif
