/* Depthwise convolution (arm_depthwise_separable_conv_HWC_q7, _nonsquare).
 *
 *   acc(y, x, c) = (bias[c] << bias_shift) + R(out_shift)
 *                  + sum over ky, kx of in(y', x', c) * wt[ky][kx][c]                modulo 2^32
 *   out[y][x][c] = saturate to q7 (floor(acc / 2^out_shift))
 *   y' = y * stride_y + ky - padding_y,  x' = x * stride_x + kx - padding_x
 *   in() = 0 outside the image
 *
 * Axes: image [y][x][c], weights [ky][kx][c], bias [c], output [y][x][c].
 * Legal: ch_im_in equal to ch_im_out; ranges as in convolve.h, except that on the DSP path only
 * dim_kernel_x * dim_kernel_y is limited to 65535. dim_im_out is free.
 * In place: no. Scratch: only in the model, bufferA with one window of q7 bytes,
 * ch_im_in * dim_kernel_x * dim_kernel_y. Scalar and DSP give the same bits.
 * Fast rows do not support geometries in which a row of outputs reads more than 16 MB. */
#ifndef QN_Q_DEPTHWISE_H
#define QN_Q_DEPTHWISE_H

#include "weighted_kernels.h"
#include "window.h"

#endif
