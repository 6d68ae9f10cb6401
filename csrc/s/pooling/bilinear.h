/* RESIZE_BILINEAR of TensorFlow Lite Micro, of 8 bits: each pixel is a blend of four, by weights in
 * steps of 1/1024. With floor() for quotients rounded down and trunc() towards 0, along each axis
 *
 *   scale = floor((1024 * in + floor(out / 2)) / out); with align_corners, of in - 1 and out - 1
 *           where out > 1
 *   at(i) = i * scale, with half_pixel_centers + floor(scale / 2) - 512
 *   low = max(trunc(at / 1024), 0), high = min(trunc((at + 1023) / 1024), in - 1)
 *   part = at - 1024 * low
 *
 *   sum = (1024 - part_y) * ((1024 - part_x) * in[low_y][low_x] + part_x * in[low_y][high_x])
 *       + part_y * ((1024 - part_x) * in[high_y][low_x] + part_x * in[high_y][high_x])
 *   out = sum / 2^20 to the nearest; halves away from zero, with `single` up
 *
 * part is -512..1023, where it is negative low = high, so that |sum| < 2^29 and out stays inside of
 * what it blends. Zero points are not looked at: input and output have one format.
 *
 * Axes: [batches][input_h][input_w][channels] to [batches][output_h][output_w][channels].
 * Ranges: sides 1..65535; align_corners and half_pixel_centers 0 or 1, not both 1; low inside of
 * the image up to the last pixel (the device reads beyond it where a rounded scale adds up to more,
 * as from 3 to 4096 pixels); at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none. All cores give the same bits; `single` is TFLITE_SINGLE_ROUNDING. */
#ifndef QN_S_BILINEAR_H
#define QN_S_BILINEAR_H

#include "../affine.h"
#include "kernels.h"

/* One axis: sides, and scale and start of at(). Nothing passes 2^28. */
typedef struct s_bilinear_axis {
    int32_t in, scale, start;
} s_bilinear_axis;

static inline s_bilinear_axis s_bilinear_axis_of(const qn_s_resize *p, int32_t in, int32_t out) {
    const int32_t inner = p->align_corners && out > 1;
    const int32_t scale = (1024 * (in - inner) + (out - inner) / 2) / (out - inner);
    return (s_bilinear_axis){in, scale, p->half_pixel_centers ? scale / 2 - 512 : 0};
}

/* The two pixels that pixel i of the output blends. */
typedef struct s_blend {
    int32_t low, high, part;
} s_blend;

static inline s_blend s_blend_of(const s_bilinear_axis *a, int32_t i) {
    const int32_t at = i * a->scale + a->start, low = at > 0 ? at / 1024 : 0;
    const int32_t high = (at + 1023) / 1024;
    return (s_blend){low, high < a->in - 1 ? high : a->in - 1, at - 1024 * low};
}

#endif
