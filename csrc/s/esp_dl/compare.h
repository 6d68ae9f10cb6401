/* Comparisons and updates of slices of ESP-DL, which are the same on every chip.
 *
 *   compare   out = 1 where a is equal to b, greater, greater or equal, less, less or equal: kind
 *             0..4. Integers are compared, whatever their exponents are
 *   scatter   out = data; then, one slice after the other, out[offset + i] becomes update[i], or
 *             saturate(out + update), saturate(out * update), the maximum, the minimum: kind 0..4
 *
 * offsets: [slices], int32, in weights. A slice that leaves the data is refused when it runs.
 * Ranges: block_size 1..2^31 - 1 bytes; slices, slice 1..2^31 - 1 with a product as block_size.
 * In place: scatter of its data. Scratch: none.
 * Example: 100 + 100 is 127 by scatter of 8 bits with kind 1. */
#ifndef QN_S_ESP_DL_COMPARE_H
#define QN_S_ESP_DL_COMPARE_H

#include "rounding.h"

#endif
