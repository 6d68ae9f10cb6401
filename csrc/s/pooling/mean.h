/* MEAN and SUM of TensorFlow Lite Micro over any axes of up to four.
 *
 *   sum = sum over reduced_0 and reduced_1 of (in - input_zero_point), n = reduced_0 * reduced_1
 *   k   = min(floor(log2(n)), 31 + shift)
 *   out = clamp(requantize(sum, floor(multiplier * 2^k / n), shift - k) + output_zero_point)
 *
 * clamped to the type: the count is folded into the multiplier, so that one rounding is for both.
 * SUM is the same without it: requantize(sum, multiplier, shift).
 *
 * Axes: in [kept_0][reduced_0][kept_1][reduced_1][kept_2], out [kept_0][kept_1][kept_2]. An image
 * [batches][h][w][c] over h and w is [batches][h*w][1][1][c].
 * Ranges: sides 1..2^31 - 1, at most 2^31 - 1 bytes in an array; n at most 2^23 of 8 bits, 32767 of
 * 16 bits, so that the sum stays inside of 32 bits; zero points within the type; multiplier not
 * negative; shift -31..13.
 * In place: no. Scratch: none. All cores give the same bits; `single` is TFLITE_SINGLE_ROUNDING.
 * Older releases of TensorFlow Lite Micro rounded means over h and w of an image in another way. */
#ifndef QN_S_MEAN_H
#define QN_S_MEAN_H

#include "../elementwise/requantize.h"
#include "kernels.h"

/* Multiplier and shift, with the count folded in. */
typedef struct s_mean_scale {
    int32_t multiplier, shift;
} s_mean_scale;

static inline s_mean_scale s_mean_scale_of(const qn_s_mean *p) {
    int32_t n = p->reduced_0 * p->reduced_1;
    int32_t k = 31 - qn_leading_zeros((uint32_t)n);
    k = k < 31 + p->shift ? k : 31 + p->shift;
    int64_t multiplier = (int64_t)p->multiplier * ((int64_t)1 << k) / n;
    return (s_mean_scale){(int32_t)multiplier, p->shift - k};
}

#endif
