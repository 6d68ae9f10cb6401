/* Fully connected layer of ESP-NN on an ESP32-S3 (esp_nn_fully_connected_s8, _per_ch_s8).
 *
 * As ../dense/fully_connected.h computes it, one call for each row, but the vectors of 8 elements
 * load from multiples of 8 bytes. With s = (input_align + n * input_c) modulo 8, the address of
 * row n, and v = input_c rounded down to a multiple of 8:
 *
 *   element c of row n is in[n * input_c + c - s] for c < v, and in[n * input_c + c] from v on
 *
 * Memory before the input is unknown and counts as 0.
 * Example: rows of 9 elements: row 1 begins at address 9, so that element 0 of it is the last of
 * row 0, and element 8 is right.
 *
 * Axes, ranges: as there; input_align 0..15. In place: no. Scratch: none. */
#ifndef QN_S_ESP_FULLY_CONNECTED_H
#define QN_S_ESP_FULLY_CONNECTED_H

#include "../affine.h"
#include "../dense/kernels.h"
#include "kernels.h"

#endif
