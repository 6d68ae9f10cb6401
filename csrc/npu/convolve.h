/* Convolution of the NPU; InnerProduct, BatchNorm, Scale and Bias are special cases of it.
 *
 *   acc(y, x, o) = start[o] + sum over ky, kx, c of in(y', x', g*depth + c) * weight[o][ky][kx][c]
 *   out[y][x][o] = saturate(floor(acc / 2^shift[o]))                               exact, 64 bits
 *   y' = y*stride_h + ky*dilation_h - pad_n,  x' = x*stride_w + kx*dilation_w - pad_w
 *   in() = 0 outside the image;  g = o / (out_c / group) is the group of depth input channels
 *
 * start[o] is bias[o] * 2^(f_in + f_w[o] - f_b[o]), shift[o] is f_in + f_w[o] - f_out: they stand in
 * the bias array as pairs of int64, one for each output channel.
 *
 * Axes: image [y][x][c], weights [o][ky][kx][c], start and shift [o][2], output [y][x][o]. Elements
 * of s8 and s16 ops are all of that type; u8 is an unsigned image, the rest as s8.
 * Legal: sides, channels, strides and dilations 1..65535, pads 0..65535, group divides out_c. out_h and out_w are free: a pad below zero on the far side is a smaller output. Of a pair
 * shift must be 0..63; other bits are as they are. At most 2^20 products in a sum, so that 2^20 *
 * 2^30 and any start below 2^62 stay inside 64 bits.
 * Not in place. No scratch. */
#ifndef QN_NPU_CONVOLVE_H
#define QN_NPU_CONVOLVE_H

#include "element.h"

/* Products in the sum of one output. */
static inline int64_t n_convolve_row(const qn_npu_conv *p) {
    return (int64_t)p->kernel_h * p->kernel_w * p->depth;
}

#endif
