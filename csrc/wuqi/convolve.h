/* Convolution of the NPU; InnerProduct, BatchNorm, Scale and Bias are special cases.
 *
 *   acc(y, x, o) = start[o] + sum over ky, kx, c of in(y', x', g*depth + c) * weight[o][ky][kx][c]
 *   out[y][x][o] = saturate(floor(acc / 2^shift[o]))                               exact, 64 bits
 *   y' = y*stride_h + ky*dilation_h - pad_n,  x' = x*stride_w + kx*dilation_w - pad_w
 *   in() = 0 outside the image;  g = o / (out_c / group) is the group of depth input channels
 *
 * start[o] is bias[o] * 2^(f_in + f_w[o] - f_b[o]), shift[o] is f_in + f_w[o] - f_out. The bias
 * array has an n_channel for each output channel.
 *
 * Axes: image [y][x][c], weights [o][ky][kx][c], bias [o], output [y][x][o]. All elements of s8 and
 * s16 ops have that type. u8 has an unsigned image; its other elements are s8.
 * Legal: sides, channels, strides and dilations 1..65535, pads 0..65535, group divides out_c. out_h
 * and out_w are free: a smaller output has the effect of a negative pad on the far side. A shift
 * must be 0..63: its upper bits are ignored. A sum has at most 2^20 products, so that 2^20 * 2^30
 * and any start below 2^62 fit 64 bits. In place: no. Scratch: none. */
#ifndef QN_NPU_CONVOLVE_H
#define QN_NPU_CONVOLVE_H

#include "element.h"

/* An element of the bias array. */
typedef struct n_channel {
    int64_t start, shift;
} n_channel;

static inline int n_shift(const n_channel *c) { return (int)(c->shift & 63); }

/* Return the number of products in the sum of one output. */
static inline int64_t n_convolve_row(const qn_npu_conv *p) {
    return (int64_t)p->kernel_h * p->kernel_w * p->depth;
}

#endif
