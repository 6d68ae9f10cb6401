/* Convolution of the s8 and s16 API (arm_convolve_wrapper_s8 and the functions it calls).
 *
 *   acc(n, y, x, o) = bias[o] + sum over ky, kx, c of
 *                     (in(n, y', x', g*filter_c + c) + input_offset) * filter[o][ky][kx][c]
 *   y' = y*stride_h + ky*dilation_h - pad_h,  x' = x*stride_w + kx*dilation_w - pad_w
 *   out[n][y][x][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * Beside the image the factor (in + input_offset) is 0. Sums are modulo 2^32. g = o / (output_c /
 * (input_c / filter_c)) is the group of filter_c input channels.
 *
 * Axes: images [n][y][x][c], filter [o][ky][kx][c]; bias, multiplier and shift are the rows of the
 * array `bias` (affine.h). output_h and output_w are free: padding below and to the right is what
 * they imply.
 * Ranges: sides, channels, strides and dilations 1..65535, pads 0..65535, filter_c divides input_c
 * and the number of groups divides output_c; input_offset -127..128, output_offset -128..127,
 * act_min <= act_max within the type; at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none. */
#ifndef QN_S_CONVOLVE_H
#define QN_S_CONVOLVE_H

#include "affine.h"

static inline int32_t s_groups(const qn_s_conv *p) { return p->input_c / p->filter_c; }

#endif
