/* Sums and products of two vectors (arm_elementwise_add_s8, _s16, arm_elementwise_mul_s8, _s16,
 * _s16_s8, _acc_s16; the sub of TensorFlow Lite Micro, which CMSIS-NN has not, and its uint8 add).
 * For each element x of input1 and y of input2, with R for requantize() of fixed.h:
 *
 *   add   sum = R((x + input_1_offset) * 2^left_shift, input_1_mult, input_1_shift)
 *               + R((y + input_2_offset) * 2^left_shift, input_2_mult, input_2_shift)
 *   sub   the same with a difference
 *         out = clamp(R(sum, out_mult, out_shift) + out_offset, act_min, act_max)
 *   mul   out = clamp(R((x + input_1_offset) * (y + input_2_offset), out_mult, out_shift)
 *                     + out_offset, act_min, act_max)
 *   acc   out = clamp(acc_in + R(x * y, out_mult, out_shift), act_min, act_max), where an act_max
 *         <= 0 stands for the whole range of the type
 *
 * Of 16-bit elements all offsets are ignored but the out_offset of mul_s16_s8, which clamps to
 * int8. acc: acc_in, what the output holds before the call, is the array `weights`.
 *
 * Axes: vectors of block_size elements; mul_s16_s8 takes batch_size of them one after the other.
 * Ranges: s8 offsets -127..128 (inputs; of a product -16384..16384, as ExecuTorch has them) and
 * -2^30..2^30 (output; affine.h), u8 -255..0 and 0..255; multipliers not negative, but those of an
 * s8 sum's inputs, which ExecuTorch subtracts by; act_min <= act_max within the type; left_shift
 * 0..21 (s8, u8) or 0..15 (s16), input shifts and the out_shift of a sum -31..0, so that nothing
 * but the sum of two full halves can wrap; other shifts -31..30. batch_offset 1: with any other the
 * device leaves gaps in its output.
 * In place or not, where the types are the same. Scratch: none.
 *
 * add_s8 on cores with the DSP extension takes four elements at a time and reads each x + offset as
 * an unsigned halfword, so that a negative one counts 2^16 more: with left_shift >= 16 that is lost
 * above bit 31, below it is not. The last block_size % 4 elements are as on other cores. Four times
 * x = -1, y = 0, offsets 0, left_shift 15, mult 2^30, shift 0 (out_shift -13) give 127 there, -1
 * elsewhere. TensorFlow Lite Micro has left_shift 20.
 * Helium with single rounding doubles x before it multiplies where a shift is not negative.
 * Products that could leave 32 bits by that are refused: 16 bits with out_shift >= 0, 8 bits with >
 * 14. */
#ifndef QN_S_ELEMENTWISE_H
#define QN_S_ELEMENTWISE_H

#include "../affine.h"
#include "kernels.h"

#endif
