/* Conversions of TensorFlow Lite Micro between types of elements: CAST, and QUANTIZE and DEQUANTIZE
 * of float32.
 *
 *   cast        out = in in another type: of two integers the low bits; to float32 rounded to nearest;
 *               of float32 toward zero; a bool is read as its byte, which an Ethos-U may make 255,
 *               and written as 1 of all that is not 0
 *   quantize    out = clamp(round(in / scale) + zero_point), the quotient in float32, halves away from
 *               zero, clamped to the type
 *   dequantize  out = scale * (in - zero_point), rounded once
 *
 * A float32 outside of 32 bits (of int32; of uint32 for casts to it) has no integer in C++. Here it
 * has what the instruction of a Cortex-M makes of it, the nearest that there is, and 0 for NaN; the
 * sum with the zero point is modulo 2^32 and casts to 8 and 16 bits take its low bits, as compilers
 * do it. Axes: vectors of `length` elements, 0..2^28. Ranges: from and to are each one of
 * QN_F_S8..QN_F_B8; zero_point within the type; scale_bits a positive, finite float32.
 * In place: casts between types of one size. Scratch: none. All cores and both roundings give the
 * same bits. */
#ifndef QN_S_FLOAT_CONVERT_H
#define QN_S_FLOAT_CONVERT_H

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

#endif
