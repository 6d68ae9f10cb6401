/* Requantization as one multiplication of floats, without conversions, and the search for its numbers.
 *
 * A dword from 0x4b000000 to 0x4b7fffff, read as a float, is 2^23 + what its lower 23 bits hold. Sums
 * that start from `jump` more are such floats, wherever an output steps to the next one; and so is
 *
 *   sum * scale + constant = 1.5 * 2^23 + output offset + output        rounded to nearest
 *
 * whose lower 16 bits are therefore the output with its offset, not yet clamped. scale has 24 bits of
 * the multiplier's 31, and constant is an integer, as floats of this size are. What is fine enough to put
 * each of up to 255 steps at its own sum is the fraction of jump * scale: of some 2^23 jumps, one has the
 * fraction that all steps ask for. It may be that no scale near the multiplier lets them agree. With
 * double rounding, where halves go away from 0, they do only if no output below the offset is kept, as
 * where it is rectified. */
#ifndef QN_S_LINEAR_H
#define QN_S_LINEAR_H

#include "epilogue_channel.h"

enum { LINEAR_MIDDLE = 0x4b400000 }; /* the dword of 1.5 * 2^23 as a float */

/* Return 0 if a channel has no such numbers, or none that the search finds. */
int s_find_linear(const epilogue_channel *c, const s_epilogue *epilogue, linear_numbers *found);

#endif
