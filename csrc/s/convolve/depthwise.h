/* Depthwise convolution of the s8 and s16 API (arm_depthwise_conv_wrapper_s8 and what it calls;
 * _s16; _s4).
 *
 *   acc(n, y, x, o) = bias[o] + sum over ky, kx of
 *                     (in(n, y', x', o / ch_mult) + input_offset) * filter[ky][kx][o]
 *   out[n][y][x][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * with y', x', what lies outside the image, free output sides and ranges as in convolve.h; there
 * are input_c * ch_mult output channels, at most 65535, and at most 65535 taps, filter_h *
 * filter_w. Windows begin within -32768..32767: the device counts in 16 bits.
 *
 * Axes: images [n][y][x][c], filter [ky][kx][o]; bias, multiplier and shift are the rows of the
 * array `bias` (affine.h). In place: no. Scratch: none. All core paths give the same bits, but for
 * sums in lanes of Helium built for single rounding: depthwise_helium.h.
 *
 * Functions (`kernel`): any shape is QN_S_ANY. QN_S_OPT (_opt, fast_s16) and QN_S_3X3 have ch_mult
 * 1, no dilation and one sample (fast_s16: any number, and fewer than 512 taps), and the wrapper
 * calls them there. Refused is where they would read or write outside their memory:
 *   - QN_S_3X3, which wrappers call on cores without Helium: windows that lack more than one column;
 *   - QN_S_OPT on cores with the DSP extension (s4: on all without Helium): windows that lie above or
 *     below the image with rows in between.
 * On Helium, the wrapper of s8 computes one input channel with several outputs as a convolution.
 * Where that has other bits than the formula (convolve_row.h) the call is refused.
 *
 * s16: offsets are ignored (0); the three rows of `bias` have 64 bits; sums of 64 bits are
 * requantized by qn_requantize64(), which rounds alike in both builds. act_min, act_max within
 * int16.
 *
 * s4: weights are nibbles, [ky][kx][o] as a stream, two in a byte, the first in the low half; but
 * for an odd number of input channels QN_S_ANY reads another nibble: see s_depthwise_nibble().
 * Example: 3 channels, ch_mult 1, 3x3 filters, pad_h = pad_w = 1, two samples: the first pixel's
 * four taps read nibbles 8, 11, 16, 19 of channel 0 instead of 12, 15, 21, 24. */
#ifndef QN_S_DEPTHWISE_H
#define QN_S_DEPTHWISE_H

#include "../affine.h"
#include "kernels.h"

static inline int32_t s_depthwise_channels(const qn_s_depthwise *p) {
    return p->input_c * p->ch_mult;
}

/* The pixel of an image that tap (ky, kx) of output (y, x) meets; -1 outside the image. */
static inline int64_t s_depthwise_pixel(const qn_s_depthwise *p, int32_t y, int32_t x, int32_t ky,
                                        int32_t kx) {
    int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
    int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
    int beside = in_y < 0 || in_y >= p->input_h || in_x < 0 || in_x >= p->input_w;
    return beside ? -1 : in_y * p->input_w + in_x;
}

/* s8: the products of channel o at output (y, x). in: of its sample. */
static inline uint32_t s_depthwise_products(const qn_s_depthwise *p, const int8_t *in,
                                            const int8_t *filter, int32_t y, int32_t x, int32_t o) {
    const int64_t channels = s_depthwise_channels(p);
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += channels) {
            int64_t at = s_depthwise_pixel(p, y, x, ky, kx);
            if (at >= 0) {
                int32_t factor = in[at * p->input_c + o / p->ch_mult] + p->input_offset;
                acc += (uint32_t)(factor * filter[o]);
            }
        }
    }
    return acc;
}

/* s4, QN_S_ANY, an odd number of input channels: the nibble of output channel o at tap, which is
 * the `met`-th, from 0, of the `inside` taps of this window that lie inside the image. */
static inline int64_t s_depthwise_nibble(const qn_s_depthwise *p, int64_t tap, int32_t o,
                                         int64_t met, int64_t inside) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w;
    const int64_t pitch = (int64_t)(p->input_c - 1) * p->ch_mult;
    return tap * pitch + o - o % 2 + o * (inside + taps + 1) % 2 + met;
}

#endif
