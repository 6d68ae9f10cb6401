/* Transposed convolution of the s8 API (arm_transpose_conv_wrapper_s8, arm_transpose_conv_s8), and
 * of TensorFlow Lite Micro's reference kernel, which is also the one for 16 bits on every core.
 *
 *   acc(n, Y, X, o) = bias[o] + sum over y, x, ky, kx, c with Y = y*stride_h + ky - pad_h,
 *                     X = x*stride_w + kx - pad_w of
 *                     (in(n, y, x, c) + input_offset) * filter[o][ky][kx][c]
 *   out[n][Y][X][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * Sums are modulo 2^32. Axes: images [n][y][x][c], filter [o][ky][kx][c]; bias, multiplier and
 * shift are the rows of the array `bias` (affine.h). All core paths give the same bits, but for
 * sums in lanes of Helium built for single rounding, which are all of QN_S_ANY, and otherwise those
 * that convolve_helium.h names. Ranges: as in convolve.h; dilations are 1, and pad_offset is as it
 * is: nothing looks at it. In place: no. Scratch: none.
 *
 * The wrapper computes strides of at most 2 with more than 16 input channels as a convolution of
 * the image, spread out, with the filter turned round; that takes pads below the filter's sides.
 * All else is QN_S_ANY (`kernel`), which puts out stride_h rows for each row of the input, and
 * takes:
 *   - of 7.0.0 pad_h a multiple of stride_h: otherwise the rows of the device lie too high, and
 *     some are never written (mended in Arm's main branch in July 2026);
 *   - input_h*stride_h - pad_h rows of output, and max(filter_h - stride_h, 0) more at most;
 *   - pad_w + output_w columns up to (input_w - 1)*stride_w + max(filter_w, stride_w).
 * The reference kernel (QN_S_REFERENCE) takes pads below the filter's sides, and has no lanes.
 *
 * s16: offsets are ignored (0), act_min and act_max within int16; bias and sums have 64 bits and
 * are modulo 2^64, the rows of `bias` too; qn_requantize64_tflm(). What check() cannot see: the
 * default build of TensorFlow Lite Micro stops where a sum has more than 48 bits with its sign. */
#ifndef QN_S_TRANSPOSE_CONV_H
#define QN_S_TRANSPOSE_CONV_H

#include "../affine.h"
#include "kernels.h"

/* Is it computed as a convolution, with the filter turned round? */
static inline int s_is_turned(const qn_s_transpose_conv *p) {
    return p->kernel == QN_S_WRAPPER && p->stride_h <= 2 && p->stride_w <= 2 && p->input_c > 16;
}

/* The row or column of the input whose tap k meets an output, which is at + pad; -1 if none. */
static inline int64_t s_met(int64_t at, int32_t k, int32_t stride, int32_t input) {
    int64_t from = at - k;
    return from < 0 || from % stride || from / stride >= input ? -1 : from / stride;
}

#endif
