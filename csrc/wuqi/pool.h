/* Pooling of the NPU.
 *
 *   max        out = the largest cell of the window; cells outside the image count as lowest (0x80)
 *   average    out = saturate(floor(S * 2^up / (n * 2^down))),  S: sum of the cells in the image
 *              n: cells of the window in the image, or with hw_aligned the hardware's divisor
 *
 * The hardware distinguishes six positions of a window by (i, j), its top left cell in the padded
 * image, and divides by
 *
 *   i = 0, j = 0                   (kernel_h - pad_n) * (kernel_w - pad_w)
 *   i = in_h + pad_n - 1, j = 0    (kernel_h - pad_s) * (kernel_w - pad_w)
 *   other i, j = 0                  kernel_h          * (kernel_w - pad_w)
 *   i = 0, other j                 (kernel_h - pad_n) *  kernel_w
 *   i = in_h + pad_n - 1, other j  (kernel_h - pad_s) *  kernel_w
 *   other i and j                   kernel_h          *  kernel_w
 *
 * Axes: in[0] and out [y][x][c]. up - down is f_out - f_in of an average, and 0 of a maximum.
 * Legal: sides, channels, strides and dilations 1..65535, pads 0..65535. Far pads are below the
 * kernel; negative ones make the output smaller. up and down are 0..31 and one of them is 0. A
 * window has at most 2^16 cells. n is positive in every position that occurs. In place: no.
 * Scratch: none. */
#ifndef QN_NPU_POOL_H
#define QN_NPU_POOL_H

#include "element.h"

/* Return the hardware's divisor for the window at (y, x). */
static inline int64_t n_pool_divisor(const qn_npu_pool *p, int32_t y, int32_t x) {
    int64_t i = (int64_t)y * p->stride_h, j = (int64_t)x * p->stride_w;
    int64_t rows = i == 0                                 ? p->kernel_h - p->pad_n
                   : i == (int64_t)p->in_h + p->pad_n - 1 ? p->kernel_h - p->pad_s
                                                          : p->kernel_h;
    return rows * (j == 0 ? p->kernel_w - p->pad_w : p->kernel_w);
}

#endif
