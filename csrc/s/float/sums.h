/* Sums of TensorFlow Lite Micro in float32: SUM, MEAN, BATCH_MATMUL and L2_NORMALIZATION, and the
 * largest and the least: REDUCE_MAX and REDUCE_MIN, ARG_MAX and ARG_MIN. Each product and each sum
 * is one of single precision, rounded, in the order of the inner axes, from 0 on.
 *
 *   reduce        out[k0][k1][k2] = 0 + in[k0][0][k1][0][k2] + in[k0][0][k1][1][k2] + ...; a mean / n;
 *                 a maximum begins with the least float32, a minimum with the largest, and leaves out
 *                 every NaN
 *   arg_max, arg_min  out[k0][k1] = the index of the first in[k0][r][k1] that is the largest (least) but
 *                 for NaNs; 0 where there are only these
 *   l2_norm       out[r][i] = in[r][i] / max(sqrt(in[r][0]^2 + in[r][1]^2 + ...), 1e-6)
 *   batch_matmul  out[n][h][r][c] = 0 + lhs[n'][h'][r][0] * rhs[n''][h''][0][c] + ...
 *
 * Axes: in [kept_0][reduced_0][kept_1][reduced_1][kept_2]; lhs [lhs_n][lhs_h][rows][depth], with
 * adj_x [depth][rows]; rhs [rhs_n][rhs_h][depth][columns], with adj_y [columns][depth]. Of two
 * sides n, or h, one may be 1: it counts 0 all along. l2_norm in and out [num_rows][row_size].
 * Ranges: sides 1..2^31 - 1 (of batch_matmul 1..65535), at most 2^31 - 1 bytes in an array. In
 * place: no. Scratch: none. All cores and both roundings give the same bits; those of a NaN are not
 * promised. */
#ifndef QN_S_FLOAT_SUMS_H
#define QN_S_FLOAT_SUMS_H

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

#endif
