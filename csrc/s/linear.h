/* Requantization as one multiplication of floats, without conversions, and the search for its
 * numbers.
 *
 * A dword from 0x4b000000 to 0x4b7fffff, read as a float, is 2^23 + its lower 23 bits. Sums start
 * from `jump` more, so that they are such floats wherever an output steps to the next one. The
 * result is also such a float:
 *
 *   sum * scale + constant = 1.5 * 2^23 + output offset + output        rounded to nearest
 *
 * Its lower 16 bits are the output with its offset, before clamping. scale has 24 bits of the
 * multiplier's 31. constant is an integer, as all floats of this size are. The fraction of jump *
 * scale moves all of up to 255 steps: the search tries some 2^23 jumps for a fraction that puts
 * every step at its own sum. It can fail for all scales near the multiplier. Double rounding rounds
 * halves away from 0, so it requires that no output below the offset is kept, as after a rectifier.
 * */
#ifndef QN_S_LINEAR_H
#define QN_S_LINEAR_H

#include "epilogue_channel.h"

enum { LINEAR_MIDDLE = 0x4b400000 }; /* 1.5 * 2^23 as a float */

/* Return 0 if a channel has no such numbers, or none that the search finds. */
int s_find_linear(const epilogue_channel *c, const s_epilogue *epilogue, linear_numbers *found);

#endif
