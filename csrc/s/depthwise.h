/* Depthwise convolution of the s8 and s16 API (arm_depthwise_conv_wrapper_s8 and what it calls).
 *
 *   acc(n, y, x, o) = bias[o] + sum over ky, kx of
 *                     (in(n, y', x', o / ch_mult) + input_offset) * filter[ky][kx][o]
 *   out[n][y][x][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * with y', x', what lies beside the image, free output sides and ranges as in convolve.h; there are
 * input_c * ch_mult output channels, at most 65535.
 *
 * Axes: images [n][y][x][c], filter [ky][kx][o]; bias, multiplier and shift are the rows of the array
 * `bias` (affine.h). In place: no. Scratch: none. All core paths give the same bits. */
#ifndef QN_S_DEPTHWISE_H
#define QN_S_DEPTHWISE_H

#include "affine.h"

static inline int32_t s_depthwise_channels(const qn_s_depthwise *p) {
    return p->input_c * p->ch_mult;
}

#endif
