/* Elementwise layers of the NPU, with one input or two.
 *
 *   relu             out = x                       for x >= 0
 *                    out = floor(x * slope / 64)   for x < 0            slope: 0..255, in 1/64
 *   clip             out = min(max(x, 0), high)                         ReLU6: high = 6 * 2^f
 *   lookup           out = table[x]: sigmoid and tanh; the table has an entry for every code,
 *                    from the lowest to the highest
 *   add              out = saturate(floor((a + b) / 2^shift)), the sum exact
 *   scale_by_tensor  out[p][c] = saturate(floor(a[p][c] * b[c] / 2^shift)), p: a pixel
 *   log_softmax      of each pixel over its channels, in order from the first:
 *                    L = x[0];  L = max(L, x[c]) + table[|L - x[c]|];  out[c] = saturate(x[c] - L)
 *                    table[d] = floor(log(1 + e^(-d * 2^-f)) * 2^f), 0 from its length on
 *   channels         out[p][i] = channel map[i] of the concatenation of in[0] and in[1]: a slice,
 *                    a concatenation or a shuffle
 *
 * Legal: lengths 1..2^31 - 1, shift 0..31, high 0..32767. in[1] of channels may have 0 channels. An
 * entry of map beyond the channels reads channel 0. L saturates to the type of the output.
 * In place: relu, clip and lookup. Scratch: none. */
#ifndef QN_NPU_EACH_H
#define QN_NPU_EACH_H

#include "element.h"

/* The entries of a table of log(1 + e^-d). All further entries are 0. */
enum { N_LOG_TABLE_S8 = 64, N_LOG_TABLE_S16 = 40960 };

#endif
