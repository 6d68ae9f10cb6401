/* Programs of Arm's Ethos-U55, U65 and U85, as vela writes them.
 *
 *   program       out = the outputs, one after the other, of a command stream that has run on the
 *                 inputs, one after the other; then the trace: maps of operations, dense
 *   append_bytes  out = the others, then the elements
 *   take_bytes    out = the elements at an offset in the others
 *
 * Weights of a program: little-endian words. First the configuration word of the stream, the bytes
 * of the regions 0 to 7, the numbers of inputs, outputs and places in the trace. Then for each
 * input and output its region, its offset there and its bytes, then the places in the trace
 * (program.h). Then the command stream. Bias: the bytes of region 0. All other regions are zero
 * when a run starts.
 *
 * The stream runs in its order; waits and block dependencies change no byte. An operation reads its
 * inputs, then writes its output:
 *
 *   convolution, depthwise  acc = bias + the sum of (x - zero point) * weight, 0 outside the image
 *   maximum, minimum        acc = the extreme of x - zero point in the image
 *   average, sum            acc = the sum of x - zero point
 *   elementwise             acc = a op b, ADD and SUB with scaled operands
 *   end                     v = function(round(acc * mult / 2^shift)) + zero point, clamped, then a
 *                           table
 *
 * Sums of 8-bit inputs wrap modulo 2^32, all others have 64 bits. 32-bit results saturate. SHL
 * wraps, SHR rounds halves up unless the rounding is floor or toward zero, DIV by 0 is 0.
 *
 * Ranges: decode.c checks every address of a stream against its regions, and the weights against
 * their order; a stream that fails has a sentence. Weights and scales are constants, or copies of
 * constants that the stream itself makes. In place: no. Scratch: the regions, and two maps.
 *
 * All cores, releases and roundings give the same bits. */
#ifndef QN_ETHOSU_H
#define QN_ETHOSU_H

#include "../common/contract.h"
#include "kernels.h"
#include "program.h"

#endif
