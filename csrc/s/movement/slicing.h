/* Functions of TensorFlow Lite Micro that select elements: STRIDED_SLICE, SLICE and the parts of
 * SPLIT, and RESIZE_NEAREST_NEIGHBOR.
 *
 *   slice   out[i0]...[i4] = in[begin_0 + i0 * stride_0]...[begin_4 + i4 * stride_4]
 *   resize  out[n][y][x][c] = in[n][near(y)][near(x)][c], near() of elementary.h
 *           (qn_nearest_neighbor), which computes in float32
 *
 * Axes: slice [input_0]...[input_4] to [output_0]...[output_4], fewer axes with sides of 1 in front;
 * resize [batches][input_h][input_w][channels] to [batches][output_h][output_w][channels].
 * Ranges: sides 1..65535, strides -65535..65535, every selected element inside the input;
 * align_corners and half_pixel_centers 0 or 1; at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_SLICING_H
#define QN_S_SLICING_H

#include "../../common/elementary.h"
#include "movement.h"

#endif
