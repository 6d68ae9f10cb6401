/* Inputs of engines: geometries of products and depthwise layers; filters by channel and tap. */
#ifndef QN_GEMM_SHAPES_H
#define QN_GEMM_SHAPES_H

#include <stdint.h>

/* All _step count bytes of the image; pitch: elements of the output from pixel to pixel. is_gemv:
 * may be 1 where there is but one pixel. packed_pixels: pixels that share these channels, see
 * pixel_packing.inc; 0 is as 1. */
typedef struct gemm_shape {
    int32_t rows, columns, channels, is_gemv, packed_pixels;
    int32_t runs, steps;
    int64_t row_step, column_step, run_step, pitch;
} gemm_shape;

/* Packs start[o] and weights, which the caller knows by channel, run and step. `of` answers for
 * channels and steps beyond the last as well. */
typedef struct gemm_filters {
    const void *context;
    int32_t (*start)(const void *context, int64_t channel);
    uint32_t (*weights)(const void *context, int64_t channel, int64_t run, int64_t step);
} gemm_filters;

/* A geometry, channels last; an output pixel has as many channels as one of the image. */
typedef struct depthwise_shape {
    int32_t in_h, in_w, channels, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_n, pad_w, dilation_h, dilation_w;
    int32_t edge; /* what lies outside the image */
} depthwise_shape;

/* The caller's filters, by channel and tap; start() leaves room for OFFSET * sum of weights. */
typedef struct depthwise_filters {
    const void *context;
    int32_t (*start)(const void *context, int64_t channel);
    int32_t (*weight)(const void *context, int64_t channel, int64_t ky, int64_t kx);
} depthwise_filters;

#endif
