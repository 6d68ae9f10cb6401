/* State of TensorFlow Lite Micro between Invokes, where it moves numbers:
 * CIRCULAR_BUFFER, and the outputs of a network that an Invoke does not reach.
 *
 *   circular_buffer  in every period-th call: slots 1..slots - 1 move one down, the last becomes in[0].
 *                    out = the slots, always
 *   hold             in every period-th call: kept = in[0]. out = what is kept, always
 *
 * A CIRCULAR_BUFFER takes a slot in each Invoke that reaches it, and ends that Invoke unless it is
 * the cycles_max-th since the last one that went on. So what stands after buffers is reached in
 * every period-th Invoke, their cycles_max multiplied; the buffers' own outputs are always there.
 * In the Invokes between, a network's outputs after it are what they were: here at first zeros.
 *
 * Axes: in[0] [depth] or [length], in[1] the state [slots][depth] or [length], in[2] the state of
 * one int32, calls since the last that counted; out as in[1]. hold takes elements of 1, 2, 4 or 8
 * bytes. Ranges: slots, depth, length, period 1..2^31 - 1; at most 2^31 - 1 bytes in an array. A
 * count that no call can have left counts as the last.
 * In place: no. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_STREAMING_H
#define QN_S_STREAMING_H

#include "movement.h"

#endif
