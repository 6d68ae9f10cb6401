/* The steps that the s8 and s16 API is made of, on vectors (arm_nn_requantize and its relatives of
 * arm_nnsupportfunctions.h): for each i
 *
 *   nn_requantize               requantize(a, b, c) by the profile's rounding
 *   nn_requantize_s64           the same of a 64-bit a; b: a multiplier's upper 16 bits, rounded
 *   nn_doubling_high_mult       HM(a, b), saturated; _no_sat: modulo 2^32
 *   nn_divide_by_power_of_two   RDP(a, b)
 *   nn_mult_by_power_of_two     a * 2^b, saturated
 *   nn_exp_on_negative_values   e^a, a <= 0 in Q5.26
 *   nn_one_over_one_plus_x      1/(1 + a), 0 <= a < 1 in Q0.31
 *
 * with the names of fixed.h and elementary.h. c of nn_requantize is the array `weights`, as is a of
 * nn_requantize_s64, whose in[0] and in[1] are b and c.
 *
 * Axes: vectors of `length` elements, 0..2^28 - 1. Elements are clamped into their ranges: shifts
 * -31..30 (-31..7 of 64 bits), powers of two 0..31, a of e^a below 1, of 1/(1 + a) above -1.
 * In place or not, where the type is the same. Scratch: none. All cores give the same bits. */
#ifndef QN_S_PRIMITIVES_H
#define QN_S_PRIMITIVES_H

#include "../../common/elementary.h"
#include "../affine.h"
#include "kernels.h"

#endif
