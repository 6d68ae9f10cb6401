/* The image of one group of a convolution, padded as the engine reads it. Included after tile.h and
 *   input              an element of the image
 *   pixel, PER_STEP    how the engine holds image + OFFSET, and how many of these a dword holds
 *   OFFSET */
#ifndef QN_GEMM_IMAGE_H
#define QN_GEMM_IMAGE_H

#include "../qn.h"

/* A geometry, channels last: group * depth input channels, out_c in all, edge beside the image. */
typedef struct image_shape {
    int32_t in_h, in_w, group, depth, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_n, pad_w, dilation_h, dilation_w;
    int32_t edge;
} image_shape;

/* SLACK: bytes that the last step of a run may read behind it. */
enum { SLACK = 64, MOST_IMAGE_BYTES = 1 << 28 };

/* Columns and rows that windows reach, beside the image too. */
static inline int64_t reach(int32_t out, int32_t stride, int32_t kernel, int32_t dilation) {
    return (int64_t)(out - 1) * stride + (int64_t)(kernel - 1) * dilation + 1;
}

/* Pixels in a row of the padded image: dilated windows lie there tap by tap, one after the other. */
static inline int64_t width_of(const image_shape *p) {
    return p->dilation_w > 1 ? (int64_t)p->out_w * p->kernel_w
                             : reach(p->out_w, p->stride_w, p->kernel_w, 1);
}
static inline int64_t height_of(const image_shape *p) {
    return reach(p->out_h, p->stride_h, p->kernel_h, p->dilation_h);
}

static int64_t image_bytes(const image_shape *p) {
    int64_t row = width_of(p) * p->depth * (int64_t)sizeof(pixel);
    if (row > MOST_IMAGE_BYTES || height_of(p) > MOST_IMAGE_BYTES / row) {
        return QN_NOT_TAKEN;
    }
    return height_of(p) * row + SLACK;
}

/* Products in the sum of one output. */
static inline int64_t image_taps(const image_shape *p) {
    return (int64_t)p->kernel_h * p->kernel_w * p->depth;
}

/* One group's part of the image and of the output. */
static gemm_shape shape_of(const image_shape *p) {
    int64_t pixel_bytes = p->depth * (int64_t)sizeof(pixel), row_bytes = width_of(p) * pixel_bytes;
    int whole = p->out_w == 1 && p->dilation_w == 1 && p->dilation_h == 1;
    int32_t runs = whole ? 1 : p->kernel_h; /* windows as wide as the image: their rows join */
    gemm_shape shape = {
        .rows = p->out_h,
        .columns = p->out_w,
        .channels = p->out_c / p->group,
        .alone = p->out_h == 1 && p->out_w == 1,
        .runs = runs,
        .steps = (int32_t)((image_taps(p) / runs + PER_STEP - 1) / PER_STEP),
        .row_step = p->stride_h * row_bytes,
        .column_step = (p->dilation_w > 1 ? p->kernel_w : p->stride_w) * pixel_bytes,
        .run_step = p->dilation_h * row_bytes,
        .pitch = p->out_c,
    };
    if (width_of(p) == p->out_w && height_of(p) == p->out_h) {
        shape.columns *= shape.rows; /* windows of one pixel, side by side: the rows join */
        shape.rows = 1;
        shape.column_step = pixel_bytes;
    }
    return shape;
}

static pixel *beside(const image_shape *p, pixel *to, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = (pixel)(p->edge + OFFSET);
    }
    return to + count;
}

/* `count` pixels of one group, which are `channels` apart in the image. */
static pixel *inside(pixel *to, const input *from, int64_t count, int64_t depth, int64_t channels) {
    int64_t runs = depth == channels ? 1 : count, run = depth == channels ? count * depth : depth;
    for (int64_t r = 0; r < runs; r++, from += channels) {
        for (int64_t i = 0; i < run; i++) {
            *to++ = (pixel)(from[i] + OFFSET);
        }
    }
    return to;
}

static pixel *pad_row(const image_shape *p, const input *row, pixel *to) {
    int64_t width = width_of(p), depth = p->depth, channels = depth * p->group;
    int64_t left = p->pad_w < width ? p->pad_w : width;
    int64_t middle = p->in_w < width - left ? p->in_w : width - left;
    to = inside(beside(p, to, left * depth), row, middle, depth, channels);
    return beside(p, to, (width - left - middle) * depth);
}

static pixel *pad_dilated_row(const image_shape *p, const input *row, pixel *to) {
    int64_t depth = p->depth, channels = depth * p->group;
    for (int32_t x = 0; x < p->out_w; x++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            to = in_x >= 0 && in_x < p->in_w ? inside(to, row + in_x * channels, 1, depth, channels)
                                             : beside(p, to, depth);
        }
    }
    return to;
}

/* The reach of all windows as the engine reads it, from the first channel of a group on. */
static void pad_image(const image_shape *p, const input *in, pixel *to) {
    int64_t height = height_of(p), row = (int64_t)p->in_w * p->group * p->depth;
    for (int64_t y = 0; y < height; y++) {
        int64_t in_y = y - p->pad_n;
        if (in_y < 0 || in_y >= p->in_h) {
            to = beside(p, to, width_of(p) * p->depth);
        } else if (p->dilation_w > 1) {
            to = pad_dilated_row(p, in + in_y * row, to);
        } else {
            to = pad_row(p, in + in_y * row, to);
        }
    }
    beside(p, to, SLACK / (int64_t)sizeof(pixel));
}

#endif
