/* REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, ARG_MAX and ARG_MIN of TensorFlow Lite Micro.
 *
 *   reduce_max, reduce_min   out = the largest (least) in of a group
 *   reduce_all               out = 1 where no in of the group is 0, otherwise 0
 *   arg_max, arg_min         out = the index in its group of the largest (least) in; of equal ones
 *                            the first
 *
 * Axes: in [kept_0][reduced_0][kept_1][reduced_1][kept_2], out [kept_0][kept_1][kept_2]; of arg_max
 * and arg_min reduced_1 and kept_2 are 1, and out has 32 bits. b8: truth values, a byte for each.
 * Ranges: sides 1..2^31 - 1, at most 2^31 - 1 bytes in an array. Nothing looks at zero points,
 * multiplier and shift.
 * In place: no. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_REDUCE_H
#define QN_S_REDUCE_H

#include "../affine.h"
#include "kernels.h"

#endif
