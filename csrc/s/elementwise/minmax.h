/* Smaller and larger of two images (arm_minimum_s8, arm_maximum_s8).
 *
 *   out[n][h][w][c] = min or max of input1 and input2 at that index
 *
 * where an axis of one element stands for that element at every index of the axis.
 *
 * Axes: [n][h][w][c], each of 1..65535; where the inputs differ, one has 1. out has the larger
 * ones. At most 2^31 - 1 bytes in an array. In place with an input of the output's size, or not.
 * Scratch: none. All cores and both roundings give the same bits.
 * Refused: h > 1 of an input [n][h][1][1] next to one with w > 1. Arm's functions then go two
 * elements on with each row, and read next to the input. */
#ifndef QN_S_MINMAX_H
#define QN_S_MINMAX_H

#include "../affine.h"
#include "kernels.h"

#endif
