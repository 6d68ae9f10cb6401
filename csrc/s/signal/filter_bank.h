/* The filter bank of the Signal library of TensorFlow Lite Micro, and what follows it, per channel.
 * All sums and products without another word are modulo 2^64 of filter_bank, 2^32 elsewhere; R(x)
 * is the square root rounded to the nearest integer, halves do not occur.
 *
 *   filter_bank  with S(c) the sum of weights[weight_starts[c] + j] * in[frequency_starts[c] + j]
 *                over j < widths[c], and U(c) the same of unweights:  out[c] = U(c) + S(c + 1)
 *   square_root  out = min(R(in), M) >> shift, M = 2^16 - 1 where in < 2^32, else 2^32 - 1
 *   subtraction  s, t = smoothing, one_minus_smoothing of even channels, the alternate_ ones of odd;
 *                x = in << smoothing_bits, B = spectral_subtraction_bits;
 *                noise = (x * s + noise * t modulo 2^64) >> B, e = min(noise, x);
 *                out = max(x - e >> smoothing_bits, in * min_signal_remaining >> B, 64-bit product);
 *                then noise = e if clamping.
 *   noise_estimate  the noise of this, and it is its state as well
 *   pcan         g = the gain of the noise, v = in * g >> snr_shift of 64 bits, and modulo 2^32
 *                out = v * v >> 20 where v < 2^13, else (v >> 6) - 64
 *   log          x = in << input_correction_bits;  out = min(L(x), 32767), 0 where x < 2
 *
 * The gain of n <= 2 is T[n]; of others, with b bits, T = lut from 4 * b - 6 on and f the 10 bits
 * after the first of n: (((T[2] * f >> 5) + (T[1] << 5)) * f + 2^14 >> 15) + T[0] modulo 2^16,
 * signed, and modulo 2^32.
 * L(x), x = 2^k + r, with f = r in 16 bits (r * 2^(16 - k), cut off), i = f >> 9 and T below:
 *   (output_scale * (45426 * (65536 k + f + T[i] + ((T[i + 1] - T[i]) * (f - 512 i) >> 16)) + 2^15
 *    >> 16) + 2^15) >> 16, the inner sum and its product of 64 bits.
 *
 * shift, an input of one element, is read as the core shifts: its lowest 8 bits count, and from 32
 * on nothing is left. FftAutoScale makes 0..14.
 * Axes: in [length], out [length], but [num_channels] of filter_bank. Its weights are one array:
 * weights and unweights [num_weights], then frequency_starts, weight_starts and widths
 * [num_channels + 1]; elements outside of `in` or of the weights, which the device would read,
 * count 0. Weights of pcan: lut [lut_length]. The state of both subtractions is noise_estimate
 * [length]: calls with the same input and arguments keep the same.
 * Ranges: sides 1 or more, num_channels at most 65535, arrays of at most 2^31 - 1 bytes;
 * smoothing_bits and input_correction_bits 0..31, spectral_subtraction_bits and snr_shift 0..63,
 * lut_length at least 125, which the largest noise reads. In place: no. Scratch: none.
 * All cores and both roundings give the same bits. */
#ifndef QN_S_FILTER_BANK_H
#define QN_S_FILTER_BANK_H

#include "../affine.h"
#include "kernels.h"

enum { S_PCAN_LUT = 125 };

/* The one array of weights of filter_bank. */
typedef struct s_filter_tables {
    const int16_t *weights, *unweights, *starts, *weight_starts, *widths;
} s_filter_tables;

static inline s_filter_tables s_filter_tables_of(const qn_signal_filter_bank *p,
                                                 const int16_t *weights) {
    const int16_t *unweights = weights + p->num_weights, *starts = unweights + p->num_weights;
    const int64_t count = (int64_t)p->num_channels + 1;
    return (s_filter_tables){weights, unweights, starts, starts + count, starts + 2 * count};
}

/* Entry i is round(2^16 * (log2(1 + i/128) - i/128)). */
/* clang-format off */
static const uint16_t s_log_u16[129] = {
    0, 224, 442, 654, 861, 1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646, 2797,
    2944, 3087, 3224, 3358, 3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460, 4549, 4633,
    4714, 4791, 4864, 4934, 5001, 5063, 5123, 5178, 5231, 5280, 5326, 5368, 5408, 5444, 5477, 5507,
    5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640, 5641, 5638, 5633, 5626, 5615, 5602, 5586,
    5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249, 5203, 5156, 5106, 5054, 5000,
    4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341, 4264, 4184, 4103, 4020, 3935, 3848,
    3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981, 2875, 2768, 2659, 2549, 2437, 2323, 2207,
    2090, 1971, 1851, 1729, 1605, 1480, 1353, 1224, 1094, 963, 830, 695, 559, 421, 282, 142,
    0,
};
/* clang-format on */

#endif
