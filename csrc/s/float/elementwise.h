/* Operators of TensorFlow Lite Micro on each element of float32, int32 or int64, or on each pair.
 *
 *   unary    out = f(in) of float32, f as `what` says. exp, log, sin, cos, tanh, elu (e^x - 1 where
 *            x < 0) and sqrt are the float, rounded once (common/real.h). All others are steps of
 *            IEEE 754 in single precision, each rounded: rsqrt 1 / sqrt(x); logistic 1 / (1 + exp(-x)),
 *            exp(x) below -9, 1 above 16.619047; hard_swish x * min(6, max(0, x + 3)) / 6; leaky_relu
 *            x * alpha unless x > 0; round to nearest, halves to even, and to +0 from below
 *   binary   out = in[0] op in[1]. add, sub, mul and div end with the limits of the fused activation,
 *            which are finite without one too: an infinity becomes the largest float32. maximum is
 *            in[0] > in[1] ? in[0] : in[1], and minimum likewise; floor_div floor of the quotient in
 *            double precision; floor_mod fmod, plus the divisor where their signs differ; prelu
 *            in[0] >= 0 ? in[0] : in[0] * in[1].
 *            int32: modulo 2^32; quotients toward zero, without floor_div, floor_mod and prelu.
 *            int64: maximum and minimum alone
 *   compare  out = in[0] op in[1], a byte of 0 or 1: false with a NaN, but not_equal
 *
 * Undefined in C++, here as on a Cortex-M: x / 0 of int32 is 0, and -2^31 / -1 is -2^31. floor_div
 * by 0 is IEEE 754's here; TensorFlow Lite Micro stops with an error, and its output is left as it
 * was. Device and host differ in the last bit of what its own exp, log, sin, cos, tanh round
 * otherwise than to nearest, and where its compiler fuses a product and a sum.
 * Axes: vectors of `length` elements, 0..2^28 (of int64 2^27). Ranges: what, activation: see
 * qn_params_f.h. In place: yes, but compare. Scratch: none. All cores and both roundings give the
 * same bits; those of a NaN are not promised. */
#ifndef QN_S_FLOAT_ELEMENTWISE_H
#define QN_S_FLOAT_ELEMENTWISE_H

#include <float.h>

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

enum { S_REAL_MOST = 1 << 28 };

/* x after a fused activation; a NaN stays one. */
static inline float s_keep(float x, int32_t activation) {
    const float low = activation == QN_F_KEEP_ALL            ? -FLT_MAX
                      : activation == QN_F_KEEP_RELU_N1_TO_1 ? -1.0f
                                                             : 0.0f;
    const float high = activation == QN_F_KEEP_RELU6          ? 6.0f
                       : activation == QN_F_KEEP_RELU_N1_TO_1 ? 1.0f
                                                              : FLT_MAX;
    const float above = x < low ? low : x;
    return high < above ? high : above;
}

#endif
