/* Frames of a stream of samples: the operators of TensorFlow Lite Micro's Signal library that keep
 * some of it from Invoke to Invoke.
 *
 * frames is SignalFramer, SignalDelay and SignalStacker. Per step n_frames times, each of `outer`
 * signals for itself:
 *
 *   kept = the last `kept_length` elements of (kept, the next frame_step elements of the input)
 *   out  = frame_size elements of kept, the oldest but for those that came before the last frame
 *
 * count is the number of frames so far: `wait` are not valid, then each `every`-th is, from the
 * next on. It begins after the first frame_step * (every - 1 - v) elements of kept, v those since
 * the last valid one: so an output that is not valid repeats the last valid one. Before the first
 * it is 0. The device leaves its memory as it was, which is this where nothing else lies there.
 * (From wait + every on, count begins anew after wait.) With fill, kept begins as copies of the
 * first frame_step elements.
 *
 *   SignalFramer   prefill: kept_length = frame_size, wait 0. Without: kept_length = frame_size rounded
 *                  up to a multiple of frame_step, wait = kept_length / frame_step - 1. every 1
 *   SignalDelay    frame_size = frame_step, kept_length = frame_step + delay_length, wait 0, every 1
 *   SignalStacker  frame_step = num_channels, frame_size = frame_step * (left + right + 1),
 *                  kept_length = frame_size + (every - 1) * frame_step, wait = right, every =
 *                  stacker_step, fill
 *
 * valid  out[0] = 1 if every frame of this step is valid, else 0; of the same arguments and count.
 * overlap_add  per frame: sum = sat16(sum + in), or float32 sum + in; out = its first frame_step
 *              elements; sum = the others, then frame_step zeros.
 *
 * Axes: input [outer, n_frames * frame_step], kept [outer, kept_length], count [1], out [outer,
 * n_frames, frame_size] of frames; input [outer, n_frames, frame_size], sum [outer, frame_size],
 * out [outer, n_frames * frame_step] of overlap_add. kept, count, sum: states.
 * Ranges: sides 1 or more, n_frames at most 65535; wait 0 or more, wait + every below 2^31 - 1;
 * frame_size + (every - 1) * frame_step and frame_step at most kept_length; frame_step at most
 * frame_size of overlap_add; arrays of at most 2^31 - 1 bytes. A count that no call has written is
 * read as 0.
 * In place: no. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_FRAMES_H
#define QN_S_FRAMES_H

#include <string.h>

#include "../affine.h"
#include "kernels.h"

#endif
