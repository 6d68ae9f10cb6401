/* Operators of TensorFlow Lite Micro on images of float32: pooling and RESIZE_BILINEAR. Each step
 * is one of single precision, rounded.
 *
 *   pool   the window of output o covers the inputs o*stride - pad ... + filter - 1 that lie in the image,
 *          n of them, row by row. what: average, the sum in turn / n; largest; L2, the root of the sum of
 *          squares / n. Then the fused activation (elementwise.h)
 *   resize_bilinear, for each axis
 *          scale = in / out; with align_corners and out > 1, (in - 1) / (out - 1)
 *          s = o * scale; with half_pixel_centers (o + 0.5) * scale - 0.5
 *          i0 = max(floor(s), 0), i1 = min(ceil(s), in - 1), f1 = s - i0, f0 = 1 - f1
 *          out = v(y0,x0) fy0 fx0 + v(y1,x0) fy1 fx0 + v(y0,x1) fy0 fx1 + v(y1,x1) fy1 fx1 + 0, from the
 *          left to the right
 *
 * Axes: [batch][y][x][c]. Ranges: sides, channels, filter and stride 1..65535, pad 0..65535, at
 * most 65535 cells in a filter and 2^31 - 1 bytes in an array; not both flags of resize_bilinear.
 * Refused: a window without a cell in the image. In place: no. Scratch: none. All cores and both
 * roundings give the same bits; those of a NaN are not promised. */
#ifndef QN_S_FLOAT_IMAGES_H
#define QN_S_FLOAT_IMAGES_H

#include "../pooling/pool.h"
#include "elementwise.h"

#endif
