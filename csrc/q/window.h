/* Windows over an HWC image, for convolution and depthwise convolution: legal geometries, and the
 * taps that a window reads. */
#ifndef QN_Q_WINDOW_H
#define QN_Q_WINDOW_H

#include "../common/contract.h"

/* A window with its tap (0, 0) at pixel (y, x), and the taps that it reads: ky0 <= ky < ky1 and
 * kx0 <= kx < kx1. All other taps count as zero; an empty interval means no taps. */
typedef struct q_window {
    int32_t y, x;
    int32_t ky0, ky1, kx0, kx1;
} q_window;

/* Return a window that reads all taps, inside the image or not. */
static inline q_window q_window_whole(const qn_conv *p, int32_t out_y, int32_t out_x) {
    q_window w = {.y = out_y * p->stride_y - p->padding_y,
                  .x = out_x * p->stride_x - p->padding_x,
                  .ky1 = p->dim_kernel_y,
                  .kx1 = p->dim_kernel_x};
    return w;
}

/* Drop the taps above and below the image, or left and right of it. */
static inline q_window q_window_clip_y(const qn_conv *p, q_window w) {
    w.ky0 = w.y < 0 ? -w.y : 0;
    w.ky1 = p->dim_im_in_y - w.y < w.ky1 ? p->dim_im_in_y - w.y : w.ky1;
    return w;
}
static inline q_window q_window_clip_x(const qn_conv *p, q_window w) {
    w.kx0 = w.x < 0 ? -w.x : 0;
    w.kx1 = p->dim_im_in_x - w.x < w.kx1 ? p->dim_im_in_x - w.x : w.kx1;
    return w;
}

/* Return the window with zero padding: only the taps inside the image. */
static inline q_window q_window_inside(const qn_conv *p, int32_t out_y, int32_t out_x) {
    return q_window_clip_x(p, q_window_clip_y(p, q_window_whole(p, out_y, out_x)));
}

/* The taps that output pixel (out_y, out_x) reads: the only difference between some paths. */
typedef q_window q_window_rule(const qn_conv *p, int32_t out_y, int32_t out_x);

static inline int q_window_is_empty(q_window w) { return w.ky0 >= w.ky1 || w.kx0 >= w.kx1; }

/* Return the index, in pixels, of the image pixel at a tap. */
static inline int32_t q_window_pixel(const qn_conv *p, q_window w, int32_t ky, int32_t kx) {
    return (w.y + ky) * p->dim_im_in_x + w.x + kx;
}

/* Check the range of every parameter. All are uint16_t on the device; its DSP path counts
 * dimensions in int16_t. */
static inline int q_window_ranges(const qn_conv *p, char *why) {
    int32_t dim = qn_is_dsp(p->profile) ? INT16_MAX : UINT16_MAX;
    const struct {
        const char *name;
        int32_t value, low, high;
    } parameters[] = {
        {"dim_im_in_x", p->dim_im_in_x, 1, dim},   {"dim_im_in_y", p->dim_im_in_y, 1, dim},
        {"ch_im_in", p->ch_im_in, 1, UINT16_MAX},  {"ch_im_out", p->ch_im_out, 1, UINT16_MAX},
        {"dim_kernel_x", p->dim_kernel_x, 1, dim}, {"dim_kernel_y", p->dim_kernel_y, 1, dim},
        {"padding_x", p->padding_x, 0, dim},       {"padding_y", p->padding_y, 0, dim},
        {"stride_x", p->stride_x, 1, dim},         {"stride_y", p->stride_y, 1, dim},
        {"dim_im_out_x", p->dim_im_out_x, 1, dim}, {"dim_im_out_y", p->dim_im_out_y, 1, dim},
    };
    int status = QN_OK;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == QN_OK; i++) {
        status = qn_in_range(parameters[i].name, parameters[i].value, parameters[i].low,
                             parameters[i].high, why);
    }
    if (status == QN_OK) {
        status = qn_shift_in_range("bias_shift", p->bias_shift, why);
    }
    return status == QN_OK ? qn_shift_in_range("out_shift", p->out_shift, why) : status;
}

/* Check that the device's coordinates can count to the end of an axis's last window. They are
 * int16_t on its DSP path, otherwise int. With at most INT32_MAX / 2, adding a padding or a
 * dimension cannot overflow. */
static inline int q_window_reach(const qn_conv *p, const char *axis, int32_t dim_im_out,
                                 int32_t stride, int32_t padding, int32_t dim_kernel, char *why) {
    int64_t end = (int64_t)(dim_im_out - 1) * stride - padding + dim_kernel;
    int64_t limit = qn_is_dsp(p->profile) ? INT16_MAX : INT32_MAX / 2;
    if (end > limit) {
        return qn_deny(why, QN_REFUSED,
                       "the last window ends at %s = %lld, the device counts up to %lld", axis,
                       (long long)end, (long long)limit);
    }
    return QN_OK;
}

/* Check the size of an array: the device indexes with a 32-bit int. */
static inline int q_window_fits(const char *name, int64_t bytes, char *why) {
    if (bytes > INT32_MAX) {
        return qn_deny(why, QN_REFUSED, "%s would have %lld bytes, no device indexes more than %ld",
                       name, (long long)bytes, (long)INT32_MAX);
    }
    return QN_OK;
}

/* Check the common requirements of convolution and depthwise convolution. `rows` is the number of
 * rows of the weight matrix (filters). Each row has dim_kernel_y * dim_kernel_x * row_channels
 * values of `element` bytes. After QN_OK every coordinate, index and byte count fits an int32_t. */
static inline int q_window_check(const qn_conv *p, int32_t rows, int32_t row_channels,
                                 int64_t element, qn_sizes *sizes, char *why) {
    int status = q_window_ranges(p, why);
    if (status == QN_OK) {
        status = q_window_reach(p, "x", p->dim_im_out_x, p->stride_x, p->padding_x, p->dim_kernel_x,
                                why);
    }
    if (status == QN_OK) {
        status = q_window_reach(p, "y", p->dim_im_out_y, p->stride_y, p->padding_y, p->dim_kernel_y,
                                why);
    }
    if (status != QN_OK) {
        return status;
    }
    /* Each factor is below 2^16, so three multiply to less than 2^48, and times `element` to less
     * than 2^49. */
    int64_t row = (int64_t)p->dim_kernel_y * p->dim_kernel_x * row_channels * element;
    sizes->in[0] = (int64_t)p->dim_im_in_y * p->dim_im_in_x * p->ch_im_in * element;
    sizes->out = (int64_t)p->dim_im_out_y * p->dim_im_out_x * p->ch_im_out * element;
    sizes->bias = p->ch_im_out * element;
    status = q_window_fits("Im_in", sizes->in[0], why);
    if (status == QN_OK) {
        status = q_window_fits("Im_out", sizes->out, why);
    }
    if (status == QN_OK) {
        status = q_window_fits("a filter", row, why);
    }
    if (status == QN_OK) {
        sizes->weights = rows * row;
        status = q_window_fits("wt", sizes->weights, why);
    }
    return status;
}

#endif
