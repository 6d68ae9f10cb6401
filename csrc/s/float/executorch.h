/* Kernels of ExecuTorch's cortex_m backend that CMSIS-NN has not: quantize_per_tensor and
 * quantized_div.
 *
 *   quantize_per_tensor  f = 1 / scale in single precision; out = clamp(nearest(f * in) + zero_point,
 *                        quant_min, quant_max), the product rounded to single precision, then to an
 *                        integer, halves to even
 *   quantized_div        q = (a - zero_point_1) / (b - zero_point_2), 0 where the divisor is 0;
 *                        out = clamp(round(q * factor) + output_zero_point) to the type, each step in
 *                        single precision, round with halves away from zero
 *
 * With Helium, whole groups of 16 elements (s16: of 8) are quantized in another way: f * in +
 * 12582912 rounded once to single precision, its bits less 0x4b400000, plus the zero point modulo
 * 2^32; s8: of that the low 16 bits, as they are signed, are clamped. 1.5 with scale 1 and zero
 * point 0 is 2 in both ways, but 40000 gives 127 in the first and -128 in the second, and 0.5 ulps
 * off a half may differ by 1. The rest of the elements is quantized as on other cores.
 *
 * A product outside of 32 bits counts as the nearest int32, NaN as 0; the sum with the zero point
 * is modulo 2^32. With Helium NaN has the bits 0x7fc00000.
 * Axes: vectors of `length` elements, 0..2^28. Ranges: scale_bits, factor_bits those of a positive,
 * finite float32; zero points within 16 bits; quant_min <= quant_max within the type. In place:
 * div. Scratch: none. Both roundings give the same bits; div on all cores. */
#ifndef QN_S_FLOAT_EXECUTORCH_H
#define QN_S_FLOAT_EXECUTORCH_H

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

#endif
