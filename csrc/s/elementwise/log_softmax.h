/* LOG_SOFTMAX of TensorFlow Lite Micro, of 8 bits, over rows. With d = x - max of the row, R of
 * tflm.h and exp_negative of elementary.h:
 *
 *   t(d) = R(d, mult, shift) in Q5.26
 *   S    = sum of RDP(exp_negative(t(d)), 12) in Q12.19, of those d >= diff_min
 *   L    = log(S) in Q5.26 (log_softmax_ref.c)
 *   least = max(diff_min - 1, R(L - 2^31, reverse_mult, reverse_shift))
 *   out  = sat8(RDP(t(d) - L, 22) + 127) where d > least, else -128
 *
 * Output: scale 1/16, zero point 127.
 * Axes: num_rows rows of row_size elements, row_size 1..4095, so that S stays inside of 32 bits;
 * at most 2^31 - 1 elements.
 * Ranges: multipliers not negative; shift 0..30; reverse_shift -31..0; diff_min -(31 * 2^26 >>
 * shift)..0, so that t stays above -2^31.
 * In place or not. Scratch: none. Of all cores; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_LOG_SOFTMAX_H
#define QN_S_LOG_SOFTMAX_H

#include "../../common/elementary.h"
#include "tflm.h"

#endif
