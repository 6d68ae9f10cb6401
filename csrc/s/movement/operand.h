/* Operands that TensorFlow Lite Micro reads without a function: constants, and tensors with fewer
 * elements than the other operand. Here a call of its own expands each of them, so that functions of
 * two operands take two tensors of one size.
 *
 *   constant   out[i] = weights[i], length elements
 *   broadcast  out[n][h][w][c] = in[n'][h'][w'][c'], where an axis of in with one element counts 0
 *              and all others as that of out
 *
 * Ranges: length 1..2^31 - 1 bytes; sides 1..65535, those of in 1 or out's; at most 2^31 - 1 bytes
 * in an array. In place or not: no. Scratch: none.
 * All cores and both roundings give the same bits. */
#ifndef QN_S_OPERAND_H
#define QN_S_OPERAND_H

#include <string.h>

#include "../affine.h"

#endif
