/* Portable operators of ExecuTorch on float32. Each step is one of single precision, rounded, in
 * the order that is given; 0 is where a sum begins.
 *
 *   convolve, forwards  sum over c, y, x of in * weight, of the cells in the image alone; + bias
 *   convolve, transposed  the output is the bias first; then inputs row by row, pixel by pixel, channel by
 *          channel add in * weight to the outputs (Y, X) = (y*stride + ky*dilation - pad, ...) that exist
 *   upsample_bilinear, for each axis
 *          s = o * scale; without align_corners max((o + 0.5) * scale - 0.5, 0)
 *          i0 = min(floor(s), in - 1), i1 = min(i0 + 1, in - 1), f1 = s - i0 within 0..1, f0 = 1 - f1;
 *          where input and output have one size i0 = i1 = o, f0 = 1, f1 = 0
 *          out = (v(y0,x0) fx0 + v(y0,x1) fx1) fy0 + (v(y1,x0) fx0 + v(y1,x1) fx1) fy1
 *   layer_norm, for each row of n  mean = sum / n, variance = (sum of squares) / n - mean * mean,
 *          out = (in - mean) / root(variance + eps) * weight + bias
 *   adaptive_pool  the mean of inputs floor(o * in / out) ... ceil((o + 1) * in / out) - 1 on each axis,
 *          both quotients of single precision; row by row
 *
 * Axes: convolve [batch][c][y][x], weights [output_c][filter_c][ky][kx], transposed
 * [input_c][filter_c][ky][kx], in input_c / filter_c groups (transposed: output_c / filter_c);
 * upsample [batch][y][x][c]; layer_norm rows; adaptive_pool [plane][y][x].
 * Ranges: sides, channels, filter, stride and dilation 1..65535, pad 0..65535, at most 2^31 - 1
 * bytes in an array; scales from 0 to 65535, finite. In place: no. Scratch: none. All cores and
 * both roundings give the same bits; those of a NaN are not promised. */
#ifndef QN_S_FLOAT_PORTABLE_H
#define QN_S_FLOAT_PORTABLE_H

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

#endif
