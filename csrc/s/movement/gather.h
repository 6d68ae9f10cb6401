/* Gather and scatter of TensorFlow Lite Micro: GATHER, GATHER_ND,
 * EMBEDDING_LOOKUP and MIRROR_PAD (gather), DYNAMIC_UPDATE_SLICE (update), and SLICE where it
 * begins at computed places (part); for elements of 1, 2, 4 or 8 bytes, of whatever type. Of places
 * of 64 bits it takes the low half (low).
 *
 *   gather  out[b][o][k][i] = in[0][b][o][place(b, k)][i],
 *           place(b, k) = sum over j of in[1][b][k][j] * step_j
 *   update  out = in[0], but for update_0 x ... x update_5 elements from the starts on, which are
 *           in[1]; the start on axis k is in[2][k - 6 + rank], clamped to
 *           0..side_k - update_k
 *   part    out = update_0 x ... x update_5 elements of in[0] from the starts on, in[1], which are not
 *           clamped
 *   low     out = in modulo 2^32
 *
 * Axes: gather in[0] [batches][outer][side][inner], in[1] [batches][count][depth] of int32, out
 * [batches][outer][count][inner]; update in[0] and out [side_0]...[side_5], in[1]
 * [update_0]...[update_5], in[2] [rank] of int32, for the last axes; those in front have sides of
 * 1; part in[0] [side_0]...[side_5], in[1] [rank] of int32, out [update_0]...[update_5]; low
 * vectors of `length` elements, 0..2^28, in[0] of int64, out of int32.
 * Ranges: sides 1..2^31 - 1, depth 1..5, rank 1..6, steps 0..2^31 - 1, update_k 1..side_k; at most
 * 2^31 - 1 bytes in an array. A place must be 0..side - 1: for another one the call fails, as the
 * device's does where it looks (GATHER does in its usual build only, and else reads outside of the
 * input). So it does for a part that is not inside of the input; there the device reads other
 * memory. In place: no. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_GATHER_H
#define QN_S_GATHER_H

#include "movement.h"

#endif
