/* Convolutions (arm_convolve_HWC_q7_basic, _q7_basic_nonsquare, _q7_RGB, _q7_fast,
 * _q7_fast_nonsquare, arm_convolve_1x1_HWC_q7_fast_nonsquare, arm_convolve_HWC_q15_basic,
 * _q15_fast, _q15_fast_nonsquare).
 *
 *   acc(y, x, o) = (bias[o] << bias_shift) + R(out_shift)
 *                  + sum over ky, kx, c of in(y', x', c) * wt[o][ky][kx][c]           modulo 2^32
 *   out[y][x][o] = saturate(floor(acc / 2^out_shift))
 *   y' = y * stride_y + ky - padding_y,  x' = x * stride_x + kx - padding_x
 *   in() = 0 outside the image
 *
 * Axes: image [y][x][c], weights [o][ky][kx][c], bias [o], output [y][x][o]; all of the op's type.
 * Legal: dimensions, channels and strides 1..65535, paddings 0..65535, shifts 0..31. On the DSP
 * path, dimensions, strides and paddings up to 32767, and ch_im_in * dim_kernel_x * dim_kernel_y up
 * to 65535. dim_im_out may be smaller or larger than the geometry gives.
 *   convolve_rgb, convolve_fast     square, like convolve q15 (Arm has both forms of convolve q7)
 *   convolve_rgb                    ch_im_in 3
 *   convolve_fast*, 1x1, q7         ch_im_in a multiple of 4, ch_im_out even
 *   convolve_fast*, q15             both even; dim_im_out_x even on the DSP path
 *   convolve_1x1_fast               kernel 1 x 1, padding 0, stride 1
 * In place: no. Scratch: columns of ch_im_in * dim_kernel_x * dim_kernel_y values in q15. The plain
 * rows use one column. The models use two, the device's bufferA (q15 convolve: one).
 *
 * Scalar and DSP differ
 *   - if a window of convolve_fast q7 or convolve_fast_nonsquare q7 that the DSP path does not
 *     check extends past the right edge: the DSP path reads the first pixels of the next image row
 *     (see q_window_fast). Input 4 x 4, kernel 3, stride 2, no padding, output 2 x 1:
 *     pixel 1 reads in[ky][2], in[ky][3], in[ky + 1][0]; the scalar path reads 0 for the last one;
 *   - likewise if convolve_1x1_fast has dim_im_out_x > dim_im_in_x: input 2 x 2, output 3 x 1:
 *     pixel 2 is in[1][0], on scalar 0;
 *   - if these reads are outside Im_in, or an odd dim_im_out_x makes the q15 fast convolutions
 *     write pixels to wrong places: refused, because the bits are undefined.
 * 5.6.0 scalar computes y' and x' in 8 bits if it has a ref560 row: pixels 128..255 are padding,
 * and pixels from 256 on are pixels from 0 on. In all other cases scalar and DSP give the same
 * bits. */
#ifndef QN_Q_CONVOLVE_H
#define QN_Q_CONVOLVE_H

#include "weighted_kernels.h"
#include "window.h"

/* Return the window that the q7 fast convolutions read on the DSP path. The output has a border as
 * wide as the padding. Its top and bottom rows check all taps. The left and right borders of the
 * other rows check kx alone; the centre checks nothing. In the centre a window extends past the
 * right or bottom edge only, because out * stride >= padding. */
static inline q_window q_window_fast(const qn_conv *p, int32_t y, int32_t x) {
    q_window w = q_window_whole(p, y, x);
    int middle = y >= p->padding_y && y < p->dim_im_out_y - p->padding_y;
    int centre = middle && x >= p->padding_x && x < p->dim_im_out_x - p->padding_x;
    w = middle ? w : q_window_clip_y(p, w);
    return centre ? w : q_window_clip_x(p, w);
}

/* True if every window that the DSP path of the q7 fast convolutions does not check is inside the
 * image. If so, the DSP path computes zero padding. */
static inline int q_convolve_regular(const qn_conv *p) {
    int64_t x = (int64_t)(p->dim_im_out_x - 1 - p->padding_x) * p->stride_x - p->padding_x;
    int64_t y = (int64_t)(p->dim_im_out_y - 1 - p->padding_y) * p->stride_y - p->padding_y;
    return x + p->dim_kernel_x <= p->dim_im_in_x && y + p->dim_kernel_y <= p->dim_im_in_y;
}

/* True if a coordinate of some window exceeds the 8 bits that the portable path of 5.6.0 has for
 * it. Checking the first and the last one is enough. If none does, 5.6.0 computes what 5.9.0
 * does. */
static inline int q_convolve_wraps(const qn_conv *p) {
    q_window first = q_window_whole(p, 0, 0);
    q_window last = q_window_whole(p, p->dim_im_out_y - 1, p->dim_im_out_x - 1);
    int32_t end_y = last.y + last.ky1 - 1, end_x = last.x + last.kx1 - 1;
    return first.y != qn_wrap8(first.y) || first.x != qn_wrap8(first.x) ||
           end_y != qn_wrap8(end_y) || end_x != qn_wrap8(end_x);
}

/* Return the length of a row of the weight matrix and of an im2col column. */
static inline int32_t q_convolve_row(const qn_conv *p) {
    return p->dim_kernel_y * p->dim_kernel_x * p->ch_im_in;
}

#endif
