/* Steps before and after the Fourier transform in the Signal library of TensorFlow Lite Micro.
 *
 *   window       out[o][i] = sat16(in[o][i] * weights[i] >> right_shift)
 *   auto_scale   out[i] = in[i] * 2^bits modulo 2^16
 *   scale_bits   out[0] = bits = 15 - (bits that m has); without skips_lowest 0 of m = 0 and of m < 0
 *   features     out[i] = clamp((256 * in[i] + 333) / 666 - 128, -128, 127), the division cut off
 *   energy       out[i] = real[i]^2 + imaginary[i]^2 where start_index <= i < end_index, else 0
 *
 * m is the largest magnitude as 16 bits find it. One element after the other, from m = 0: m = x
 * where x > m, else m = -x modulo 2^16 where -x > m. So -32768 makes m -32768, and what comes after
 * it is found anew: of (-32768, 1) m is 1 and bits 14, so that the first element becomes 0. With
 * skips_lowest, as in the micro frontend, m is the largest magnitude of the others, and of nothing
 * but -32768 it is 0. energy: an element of the input is a pair (real, imaginary). The device
 * leaves elements outside of start_index..end_index - 1 as its memory was; here they are 0.
 *
 * Axes: in and out [outer, size] of window, [length] of others; weights [size]; the input of energy
 * [length, 2].
 * Ranges: all sides 1 or more and arrays of at most 2^31 - 1 bytes; right_shift 0..31; 0 <=
 * start_index <= end_index <= length. In place or not, but for scale_bits, features and energy.
 * Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_SPECTRUM_H
#define QN_S_SPECTRUM_H

#include "../affine.h"
#include "kernels.h"

#endif
