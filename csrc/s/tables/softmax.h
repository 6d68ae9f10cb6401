/* Softmax of the s8 and s16 API (arm_softmax_s8, _s8_s16, _u8 and arm_softmax_s16).
 *
 * 8 bits in. Over one row, with d = in - max, every d < diff_min leaves the lowest output; of
 * others
 *
 *   e(d) = exp_negative(HM(d * 2^shift, mult)) with 5 bits before the point (elementary.h)
 *   S    = sum of RDP(e(d), 12), h its leading zeros, r = reciprocal(S * 2^h - 2^31)
 *   out  = sat(RDP(HM(r, e(d)), n) + lowest),  n = 35 - h to 8 bits, 27 - h to 16
 *
 * The lowest output is -128, -32768, or 0 of uint8.
 *
 * 16 bits in. exp_lut and one_by_one_lut are tables T of 513 entries, e^x for x from -10 to 0 and
 * 1/(1 + x) from 0 to 1, read with u = -32768..32767 by
 *
 *   T(u) = T[i] + ((T[i + 1] - T[i]) * (u & 127) + 64 >> 7),  i = 256 + (u >> 7), modulo 2^16
 *
 *   e(d) = exp_lut(sat16(requantize(d, mult, shift) + 32767)),  S = sum of e(d), h as above
 *   r    = one_by_one_lut((S * 2^(h - 1) + 2^13 >> 14) - 98304 modulo 2^16)
 *   out  = (e(d) * r >> 30 - h) + 1 >> 1 modulo 2^16: a row of one class gives -32768, not 32767,
 *          which TensorFlow Lite Micro gives
 *
 * where tables must be such that 0 < S: then h is 1..30. Elsewhere h is read as if it were.
 *
 * Axes: num_rows rows of row_size elements. exp_lut is the array `weights`, one_by_one_lut `bias`.
 * Ranges: num_rows 1..65535; row_size 1..4095 of 8-bit rows, whose S leaves 32 bits with 4096 equal
 * classes, and 1..65535 of 16-bit ones; at most 2^31 - 1 bytes in an array; mult not negative;
 * shift 0..31 (8 bits), -31..14 (16 bits); diff_min * 2^shift not below -2^31.
 * In place or not, where the types are the same. Scratch: none.
 *
 * Where S reaches 2^28 (512 classes as likely as the best), n is 32 or more. Cores without Helium,
 * and Helium's last row_size % 4 elements, then divide to 1 above the lowest output; Helium's
 * vectors, which s8 alone has, to the lowest: 512 zeros give -127 or -128. Arm's library built with
 * GCC 12 for Helium has no vectors; take another core for its bits. */
#ifndef QN_S_SOFTMAX_H
#define QN_S_SOFTMAX_H

#include "../../common/elementary.h"
#include "../affine.h"
#include "kernels.h"

enum { S_SOFTMAX_TABLE = 513 };

/* The ranges; low and high those of shift. */
static inline int s_softmax_check(const qn_s_softmax *p, int64_t in, int64_t out, int32_t low,
                                  int32_t high, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"num_rows", p->num_rows, 1, UINT16_MAX},
        {"row_size", p->row_size, 1, in == 1 ? 4095 : UINT16_MAX},
        {"mult", p->mult, 0, INT32_MAX},
        {"shift", p->shift, low, high},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = s_elements(in > out ? in : out, (int32_t[]){p->num_rows, p->row_size}, 2);
    if (elements < 0) {
        return s_too_large("input or the output", why);
    }
    sizes->in[0] = elements * in;
    sizes->out = elements * out;
    sizes->in_place = in == out;
    return QN_OK;
}

#endif
