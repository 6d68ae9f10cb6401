/* Depthwise convolution of ESP-NN on an ESP32-S3 in strips of rows (esp_nn_depthwise_conv_s8).
 *
 * As ../convolve/depthwise.h computes it, but rows above and below the image count: their elements
 * are 0, not the zero point, so that each tap in them adds input_offset * filter. Columns outside
 * the image do not count.
 * Example: input_offset 5, filters of ones of 3 x 1, pad_h 1: the first row has a sum larger by 5.
 *
 * Axes, ranges: as there. In place: no. Scratch: none. */
#ifndef QN_S_ESP_DEPTHWISE_H
#define QN_S_ESP_DEPTHWISE_H

#include "../convolve/depthwise.h"
#include "kernels.h"

#endif
