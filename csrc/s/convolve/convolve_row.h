/* Convolutions of one row on cores with Helium (arm_convolve_1_x_n_s8, _s4): output columns in
 * three stretches. The first `left` columns begin in the padding, the last `right` ones are taken
 * for those that end in it. With K = filter_w, S = stride_w, P = pad_w and
 *   total = (output_w - 1) * S + K - input_w,  odd = total % 2 (truncating),  Q = P + odd
 *   left = ceil(P / S),  right = 0 if Q = 0, otherwise max(1, ceil(Q / S))
 * Where total is not 2 * P + odd the device answers -3. Where left + right exceeds output_w, the s8
 * function computes as for any shape, and the s4 function answers -3.
 *
 * s8: a buffer holds P pixels of padding and the first K of the image, and serves the left columns.
 * Then it gets the K - 1 pixels from `start` = S * (output_w - right) - P on, and after them P
 * pixels of padding, or `right` ones where odd is not 0. Right column j reads K pixels from pixel
 * j*S of the buffer on. So its bits are those of the formula where the last K - 1 pixels of the
 * image are those after start, but not
 *   - where odd = -1: the last tap of the last column meets padding instead of a pixel. Example: a row
 *     of 10 pixels, K = 3, S = 2, P = 0;
 *   - where j*S + K leaves what was written: taps meet what the left columns left there. Example:
 *     9 pixels, K = 6, S = 2, P = 2.
 * Where any of that is outside the image the call is refused. pad_h is taken for 0.
 *
 * s4: left and right columns skip the taps outside the image, but find a weight at the byte where
 * its channel begins, rounded down: see s_row_nibble(). Example: one channel, K = 3, S = 4, P = 0:
 * on the right the odd output channels read the weights from the last of the channel before on. */
#ifndef QN_S_CONVOLVE_ROW_H
#define QN_S_CONVOLVE_ROW_H

#include "convolve_route.h"

typedef struct s_row {
    int32_t left, right;
    int32_t split;         /* are there three stretches? */
    int64_t start, padded; /* first pixel of the right columns; pixels of padding after them */
} s_row;

static inline s_row s_row_of(const qn_s_conv *p) {
    const int64_t stride = p->stride_w, pad = p->pad_w;
    const int64_t odd = ((p->output_w - 1) * stride + p->filter_w - p->input_w) % 2;
    const int64_t left = (pad + stride - 1) / stride;
    int64_t right = (pad + odd + stride - 1) / stride;
    right = pad + odd == 0 ? 0 : right < 1 ? 1 : right;
    return (s_row){
        .left = (int32_t)left, /* at most 65535, right one more */
        .right = (int32_t)right,
        .split = left + right <= p->output_w,
        .start = stride * (p->output_w - right) - pad,
        .padded = odd ? right : pad,
    };
}

/* Does the device answer with a status? */
static inline int s_row_fails(const qn_s_conv *p) {
    const int64_t total = (p->output_w - 1) * (int64_t)p->stride_w + p->filter_w - p->input_w;
    return total != 2 * (int64_t)p->pad_w + total % 2;
}

/* s8: can the bits be others than those of the formula? */
static inline int s_row_differs(const qn_s_conv *p, const s_row *r) {
    int one_short = r->start + p->filter_w == (int64_t)p->input_w + 1;
    int kept = (r->right - 1) * (int64_t)p->stride_w + 1 > r->padded;
    return p->pad_h != 0 || (r->split && r->right > 0 && (!one_short || kept));
}

/* s8: the pixel that tap k of column x meets; -1 of padding; input_w or more outside the image. */
static inline int64_t s_row_pixel(const qn_s_conv *p, const s_row *r, int32_t x, int32_t k) {
    if (x < p->output_w - r->right) {
        int64_t at = (int64_t)x * p->stride_w - p->pad_w + k;
        return at < 0 ? -1 : at;
    }
    int64_t at = (int64_t)(x - (p->output_w - r->right)) * p->stride_w + k;
    if (at < p->filter_w - 1) {
        return r->start + at;
    }
    if (at < p->filter_w - 1 + r->padded || at < p->pad_w) {
        return -1;
    }
    return at - p->pad_w;
}

/* s4: the nibble of weight e of output channel o, e counted from tap `first` on; column x is not in
 * the middle. */
static inline int64_t s_row_nibble(const qn_s_conv *p, int32_t first, int32_t o, int64_t e) {
    const int64_t skipped = (int64_t)first * p->input_c;
    const int64_t channel = o * ((int64_t)p->filter_w * p->input_c);
    return 2 * (skipped / 2) + 2 * (channel / 2) + e;
}

#endif
