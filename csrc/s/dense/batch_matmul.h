/* Products of matrices, one after the other (arm_batch_matmul_s8, _s16).
 *
 *   acc(n, h, y, x) = sum over c of (lhs[n'][h'][y][c] + lhs_offset) * (rhs[n"][h"][x][c] + rhs_offset)
 *   out[n][h][y][x] = clamp(requantize(acc, multiplier, shift) + output_offset, act_min, act_max)
 *
 * n and h of an operand count 0 where it has only one of them. Sums are modulo 2^32. s16: both
 * operands have 16 bits; all offsets are ignored, sums and requantize64() have 64 bits. The right
 * operand is stored transposed; adj_x and adj_y tell whether the caller has transposed, and change
 * nothing here.
 *
 * Axes: lhs [lhs_n][lhs_h][lhs_w][lhs_c], rhs [rhs_n][rhs_h][rhs_w][rhs_c], output
 * [n][h][lhs_w][rhs_w] with the larger n and h. Ranges: sides 1..65535, rhs_c = lhs_c, n and h
 * equal or one of them 1; lhs_offset and rhs_offset -127..128, output_offset -2^30..2^30
 * (affine.h), act_min <= act_max within the type, shift -31..30 (s16: -31..7), multiplier from 0
 * on; at most 2^31 - 1 bytes in an array.
 * In place: no. Scratch: none.
 *
 * s8 with single rounding and shift >= 0: Helium takes columns in fours and doubles their sums
 * first. The last rhs_w % 4 do not wrap, nor do other cores: 16513 products of 255 * 255 (all 127,
 * offsets 128), shift 0, give act_min in the fours, act_max elsewhere. All else is the same on all
 * cores. */
#ifndef QN_S_BATCH_MATMUL_H
#define QN_S_BATCH_MATMUL_H

#include "../affine.h"
#include "kernels.h"

#endif
