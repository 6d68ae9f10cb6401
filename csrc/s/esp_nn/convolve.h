/* Convolution of ESP-NN on an ESP32-S3 whose windows leave the padded image (esp_nn_conv_s8).
 *
 *   acc(n, y, x, o) = bias[o] + input_offset * (sum of filter[o])
 *                     + sum over ky, k of memory[start(y, x, ky) + k] * filter[o][ky][k]
 *   start(y, x, ky) = ((y*stride_h + ky) * W + x*stride_w) * input_c,  0 <= k < filter_w*input_c
 *   out[n][y][x][o] = clamp(requantize(acc, multiplier[o], shift[o]) + output_offset, act_min, act_max)
 *
 * The kernel copies the image with pad_h rows and pad_w columns of zero points on both sides, and
 * reads rows of windows from consecutive addresses: W = input_w + 2*pad_w. Right of the copy is
 * the left of its next row. After its last row are output_c words, input_offset * (sum of
 * filter[o]) + bias[o], and then memory that no one knows, which counts as 0.
 * Without padding there is no copy: W = input_w, and memory is the rest of the input from the
 * image on, and then unknown memory, which counts as 0.
 * Example: 2x2 filters over [1, 2, 2, 1] with an output of the same size: the window of (0, 1)
 * reads pixels (0, 1), (1, 0), (1, 1) and 0 in place of two pixels and two zero points.
 *
 * Axes and ranges: as in ../convolve/convolve.h; dilations are 1, and there are no groups.
 * In place: no. Scratch: the copy and the bytes after it. */
#ifndef QN_S_ESP_CONVOLVE_H
#define QN_S_ESP_CONVOLVE_H

#include "../affine.h"
#include "../convolve/kernels.h"
#include "kernels.h"

#endif
