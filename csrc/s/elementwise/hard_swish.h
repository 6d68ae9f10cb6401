/* HARD_SWISH of TensorFlow Lite Micro, of 8 bits: x * min(max(x + 3, 0), 6) / 6, in 16 bits.
 *
 * With M16 for qn_multiplier16(), H(a, b) = sat16(floor((a * b + 2^14) / 2^15)), and D(a, n) = a /
 * 2^n rounded to nearest, halves away from zero:
 *
 *   v     = (x - input_zero_point) * 2^7
 *   pre   = H(v, M16(output_multiplier))
 *   share = v * reluish_multiplier * 2^reluish_shift:  H(v, M16(reluish_multiplier)) / 2^-shift by D;
 *           where reluish_shift > 0, H(sat16(v * 2^(reluish_shift - 1)), M16(...)) * 2, saturated
 *   out   = sat8(D((floor((share + 2^15) / 2) * pre) / 2^15 towards 0, -output_shift)
 *                + output_zero_point)
 *
 * so that a share of -2^15..2^15 stands for x of -3..3. D by 16 or more bits is -1 below 0, and 1
 * above and of 0: the mask of the bits that are shifted out has 16 bits, and all are set.
 * Axes: vectors of `length` elements, 0..2^31 - 1.
 * Ranges: zero points of the type; multipliers not negative; output_shift -31..0, reluish_shift
 * -31..30. In place or not. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_HARD_SWISH_H
#define QN_S_HARD_SWISH_H

#include "../affine.h"
#include "kernels.h"

#endif
