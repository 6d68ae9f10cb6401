/* Convolution of the s8 and s16 API (arm_convolve_wrapper_s8 and the functions it calls; _s16;
 * _s4).
 *
 *   acc(n, y, x, o) = bias[o] + sum over ky, kx, c of
 *                     (in(n, y', x', g*filter_c + c) + input_offset) * filter[o][ky][kx][c]
 *   y' = y*stride_h + ky*dilation_h - pad_h,  x' = x*stride_w + kx*dilation_w - pad_w
 *   out[n][y][x][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * Outside the image the factor (in + input_offset) is 0. Sums are modulo 2^32. g = o / (output_c /
 * (input_c / filter_c)) is the group of filter_c input channels.
 *
 * Axes: images [n][y][x][c], filter [o][ky][kx][c]; bias, multiplier and shift are the rows of the
 * array `bias` (affine.h). output_h and output_w are free: padding below and to the right is what
 * they imply.
 * Ranges: sides, channels, strides and dilations 1..65535, pads 0..65535, filter_c divides input_c
 * and the number of groups divides output_c; at most 65535 taps, which is filter_h * filter_w *
 * filter_c; input_offset -127..128, output_offset -2^30..2^30 (affine.h), act_min <= act_max
 * within the type; at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none.
 *
 * Functions (`kernel`): any shape is QN_S_ANY. The others take shapes of their own, which check()
 * knows, and the wrapper calls them where it can (convolve_route.h). On Helium, one-row
 * convolutions (QN_S_1XN) have bits of their own: see convolve_row.h; and so have sums in the lanes
 * of its vectors, where the library is built for single rounding: see convolve_helium.h. QN_S_EVEN
 * (arm_convolve_even_s4) is for Helium and an even number of taps, with the bits of QN_S_ANY.
 *
 * s4: weights are nibbles, [o][ky][kx][c] as a stream, two in a byte, the first in the low half. No
 * groups.
 *
 * s16: offsets are ignored (0), act_min and act_max within int16; no groups. Where bias_is_int32,
 * sums and requantization have 32 bits. Otherwise:
 *   acc = bias[o] + S,  S = (sum of the first 512 taps modulo 2^32, with sign) + sum of the others
 * in 64 bits, requantized by qn_requantize64(), which rounds alike in both builds. All cores but
 * those with Helium compute pixels in pairs; of an image whose pixels are odd in number the last
 * has S modulo 2^32, with sign. Example: 1024 taps of weights 127 and inputs 32767 on one pixel sum
 * up to 4261282816 on Helium, to -33684480 on the others. On cores with the DSP extension such a
 * call is refused where more than 512 taps, which are no multiple of 4, meet an odd number of
 * output channels and at least two pixels: Arm's code reads outside its arrays for the last
 * channel. The reference kernel of TensorFlow Lite Micro (QN_S_REFERENCE) has all products in 64
 * bits on every core, and qn_requantize64_tflm(). */
#ifndef QN_S_CONVOLVE_H
#define QN_S_CONVOLVE_H

#include "../affine.h"
#include "kernels.h"

/* Products that the device sums up in 32 bits, of 16-bit convolutions with a bias of 64. */
enum { S_FAST_TAPS = 512 };

static inline int32_t s_groups(const qn_s_conv *p) { return p->input_c / p->filter_c; }

static inline int64_t s_taps(const qn_s_conv *p) {
    return (int64_t)p->filter_h * p->filter_w * p->filter_c;
}

/* The pixel of an image that tap (ky, kx) of output (y, x) meets; -1 outside the image. */
static inline int64_t s_pixel(const qn_s_conv *p, int32_t y, int32_t x, int32_t ky, int32_t kx) {
    int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
    int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
    int beside = in_y < 0 || in_y >= p->input_h || in_x < 0 || in_x >= p->input_w;
    return beside ? -1 : in_y * p->input_w + in_x;
}

/* s8: the products of channel o at output (y, x). in: of its sample. */
static inline uint32_t s_products(const qn_s_conv *p, const int8_t *in, const int8_t *filter,
                                  int32_t y, int32_t x, int32_t o) {
    const int32_t first = o / (p->output_c / s_groups(p)) * p->filter_c;
    uint32_t acc = 0;
    filter += o * s_taps(p);
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += p->filter_c) {
            int64_t at = s_pixel(p, y, x, ky, kx);
            if (at < 0) {
                continue;
            }
            const int8_t *from = in + at * p->input_c + first;
            for (int32_t c = 0; c < p->filter_c; c++) {
                acc += (uint32_t)((from[c] + p->input_offset) * filter[c]);
            }
        }
    }
    return acc;
}

#endif
