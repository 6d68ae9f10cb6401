/* Layers of ESP-DL with weights: Conv (of one axis, too), depthwise Conv, Gemm, MatMul.
 *
 *   acc = bias[o] + the sum over ky, kx, c of in(y', x', c) * filter[o][ky][kx][c]
 *   out = saturate(R(acc / 2^right_shift)), at least 0 if rectified
 *   y' = y*stride_h + ky*dilation_h - pad_h,  x' = x*stride_w + kx*dilation_w - pad_w
 *
 * Elements outside of the image are 0. R is that of rounding.h; right_shift is the exponent of the
 * output less those of input and filter. A negative shift multiplies. With per_channel each channel
 * has a right_shift of its own, in the second row of bias; an ESP32-P4 alone has kernels for these.
 *
 * Accumulators:
 *   portable C   8 bits: 32 bits, modulo 2^32; 16 bits: 64 bits, modulo 2^64.
 *   ESP32-S3     8 bits: 20 bits, which saturate after each product, in the order ky, kx, c; the
 *                bias, modulo 2^20, comes first. So have the output channels below output_c rounded
 *                down to a multiple of 16, and all of a depthwise convolution. The others have 40
 *                bits. 16 bits: 40 bits that saturate, the bias modulo 2^40.
 *   ESP32-P4     8 bits: 32 bits that saturate after each product; 16 bits: 64 bits, modulo 2^64.
 * Example: 64 products of 127 * 127 and a bias of 0 sum up to 1032256; on an ESP32-S3 the sum of
 * channel 0 of 16 is 524287, that of channel 0 of 15 is 1032256.
 *
 * Axes: images [n][y][x][c], filter [o][ky][kx][c], of a depthwise convolution [ky][kx][c]; dense:
 * rows [n][c], filter [o][c]; matmul: in[0] [m][n][c], in[1] [m][o][c] with m matrices. bias: [o],
 * per_channel [2][o], int32, of 16 bits int64; matmul has none. output_h and output_w are free:
 * padding below and to the right is what they imply.
 * Ranges: sides, strides, dilations 1..65535, pads 0..65535, at most 65535 taps; right_shift
 * -31..31, of 16 bits -31..62, of an ESP32-S3 0..31, of 16 bits 0..40, as its shifts count to the
 * right alone. Shifts of channels 0..31, of 16 bits 0..62: others count as the nearest of these.
 * In place: no. Scratch: none. */
#ifndef QN_S_ESP_DL_WEIGHTED_H
#define QN_S_ESP_DL_WEIGHTED_H

#include "rounding.h"

enum { S_DL_S3_LANES = 16, S_DL_S3_BITS = 20, S_DL_S3_WIDE_BITS = 40 };

/* x modulo 2^bits, with sign. */
static inline int64_t s_dl_wrap(int64_t x, int bits) {
    return qn_asr64((int64_t)((uint64_t)x << (64 - bits)), 64 - bits);
}

static inline int64_t s_dl_taps(const qn_dl_conv *p) {
    return (int64_t)p->filter_h * p->filter_w * p->input_c;
}

/* The pixel of an image that tap (ky, kx) of output (y, x) meets; -1 outside the image. */
static inline int64_t s_dl_pixel(const qn_dl_conv *p, int32_t y, int32_t x, int32_t ky,
                                 int32_t kx) {
    int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
    int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
    int beside = in_y < 0 || in_y >= p->input_h || in_x < 0 || in_x >= p->input_w;
    return beside ? -1 : in_y * p->input_w + in_x;
}

/* Bits of an accumulator that saturates; 0: it wraps. is_wide: of 16-bit elements. */
static inline int s_dl_bits(int32_t chip, int is_wide, int in_lanes) {
    if (chip == QN_DL_S3) {
        return is_wide || !in_lanes ? S_DL_S3_WIDE_BITS : S_DL_S3_BITS;
    }
    return chip == QN_DL_P4 && !is_wide ? 32 : 0;
}

/* Does channel o of a layer sum up in the 16 lanes of an ESP32-S3? */
static inline int s_dl_in_lanes(int32_t o, int32_t output_c) {
    return o < output_c / S_DL_S3_LANES * S_DL_S3_LANES;
}

/* An accumulator: its sum, its limits. bits 0: it wraps. */
typedef struct s_dl_acc {
    int64_t sum, low, high;
    int bits;
} s_dl_acc;

static inline s_dl_acc s_dl_start(int64_t bias, int bits) {
    const int64_t high = bits ? (INT64_C(1) << (bits - 1)) - 1 : 0;
    return (s_dl_acc){bits ? s_dl_wrap(bias, bits) : bias, -high - 1, high, bits};
}

/* The sum of 32 or 64 bits that a product makes of a sum. */
static inline void s_dl_add(s_dl_acc *acc, int64_t product) {
    const int64_t sum = qn_add64(acc->sum, product);
    acc->sum = acc->bits ? qn_clamp64(sum, acc->low, acc->high) : sum;
}

/* The value of a sum, of as many bits as it has where it wraps. */
static inline int64_t s_dl_value(const s_dl_acc *acc, int is_wide) {
    return acc->bits || is_wide ? acc->sum : s_dl_wrap(acc->sum, 32);
}

/* Element o of a row of biases or right shifts. */
static inline int64_t s_dl_bias(const void *bias, int64_t o, int is_wide) {
    if (!bias) {
        return 0;
    }
    return is_wide ? ((const int64_t *)bias)[o] : ((const int32_t *)bias)[o];
}

/* The right shift of channel o. */
static inline int s_dl_right_shift(const qn_dl_conv *p, const void *bias, int32_t o,
                                   int32_t channels, int is_wide) {
    if (!p->per_channel) {
        return p->right_shift;
    }
    return (int)qn_clamp64(s_dl_bias(bias, (int64_t)channels + o, is_wide), 0, is_wide ? 62 : 31);
}

/* A matrix: rows are images of one pixel. */
qn_dl_conv s_dl_as_pixels(const qn_dl_dense *p);

/* The output of place {n, y, x, o}, before it is saturated. */
int64_t s_dl_convolve_at(const qn_dl_conv *p, const qn_buffers *b, const int32_t place[4],
                         int is_depthwise, int is_wide);

#endif
