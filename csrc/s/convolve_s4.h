/* Convolutions with packed weights of 4 bits on cores with Helium: what differs there.
 *
 * Pixels are computed in stretches: those of a sample (QN_S_ANY), of an output row (QN_S_1X1), of all
 * samples (QN_S_1X1_FAST), or the middle columns of a sample (QN_S_1XN). Groups of four in a stretch,
 * and one that is left over, are requantized as everywhere. Two or three that are left over are
 * requantized by qn_requantize_twice() in a build for single rounding. Example: 1x1, one channel,
 * weight 1, multiplier 2^30, shift -1: of two pixels, inputs of 1 give 1, of four pixels 0.
 *
 * Weights of the left and right columns of one row: see convolve_row.h. */
#ifndef QN_S_CONVOLVE_S4_H
#define QN_S_CONVOLVE_S4_H

#include "convolve_row.h"

/* Is this pixel one of two or three that are left over? */
static inline int s_in_tail(int64_t pixel, int64_t pixels) {
    return pixels % 4 >= 2 && pixel >= pixels - pixels % 4;
}

#endif
