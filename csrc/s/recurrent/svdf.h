/* SVDF: a filter over features, and one over time (arm_svdf_s8, arm_svdf_state_s16_s8).
 * For each of the units * rank filters f:
 *
 *   state[n][f][t] = state[n][f][t + 1],  t < time_batches - 1
 *   acc            = sum over i of (in[n][i] - input_offset) * weights_feature[f][i] + sums
 *   state[n][f][last] = clamp(requantize(acc, in_multiplier, in_shift) + newest_offset, in_act_min,
 *                             in_act_max), of an s8 state its low 8 bits
 *
 * and then for each unit u, of the filters u * rank ... u * rank + rank - 1
 *
 *   acc       = bias[u] + sum over f and t of state[n][f][t] * weights_time[f][t]
 *   out[n][u] = clamp(requantize(acc, out_multiplier, out_shift) + output_offset, out_act_min,
 *                     out_act_max)
 *
 * sums: on Helium -input_offset * state_offset * input_size, on other cores 0. The call gets the
 * sums of weights from arm_vector_sum_s8 there, whose rhs_offset this is. TensorFlow Lite Micro
 * gives minus the zero point of the state, which nothing else takes notice of. input_offset 1,
 * state_offset 3 and two weights of 0 make a state of -6 there, of 0 on other cores (where
 * requantize() keeps it).
 *
 * newest_offset is 0 but for TensorFlow Lite Micro's own kernel (tflm_svdf_s8), where it is the
 * zero point of the state: that clamps to in_act_min - newest_offset ... in_act_max - newest_offset
 * first. What the zero point adds to sums over time is in the bias there.
 *
 * Sums are modulo 2^32. in[1] is the state, which the call reads and writes back. input_offset is
 * the zero point itself, unlike that of other layers. The array `weights` holds weights_feature and
 * then weights_time; s16_s8: the state and both of these have 16 bits (Arm's features have 8).
 *
 * Axes: in [n][i], state [n][f][t], weights_feature [f][i], weights_time [f][t], bias [u], out
 * [n][u]. Ranges: sides 1..65535, units * rank too; input_offset -128..127, output_offset
 * -2^30..2^30 (affine.h), state_offset -127..128, newest_offset -128..127 (s16_s8: it has none),
 * in_act_min <= in_act_max within int16 (which TensorFlow Lite Micro passes for an s8 state, too),
 * out_act_min <= out_act_max within int8, shifts -31..30, multipliers from 0 on; at most 2^31 - 1
 * bytes in an array. In place: no. Scratch: none.
 *
 * With single rounding and a shift >= 0 Helium doubles sums first, modulo 2^32: all that end in the
 * output, and those of the filters but the last (units * rank) % 4, s16_s8 % 3. A bias of 2^30,
 * weights 0, out_shift 0 give out_act_min there, out_act_max on other cores. All else is the same
 * on all cores. */
#ifndef QN_S_SVDF_H
#define QN_S_SVDF_H

#include "../affine.h"
#include "kernels.h"

/* Terms that Helium's sums of weights add to each filter. */
static inline int32_t svdf_sums(const qn_s_svdf *p) {
    const int helium = qn_path(p->profile) == QN_PATH_MVE;
    const int32_t product = -p->input_offset * p->state_offset;
    return helium ? qn_wrap32((uint32_t)product * (uint32_t)p->input_size) : 0;
}

#endif
