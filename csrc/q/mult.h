/* Products with a shift (arm_nn_mult_q7, arm_nn_mult_q15). R is the rounding term of the profile:
 * 2^(out_shift - 1), or 0 in a truncate build; fixed.h has the special cases.
 *
 *   5.9.0  q7   out = sat8(wrap16(a*b + R) >> out_shift)
 *          q15  out = sat16(wrap32(a*b + R) >> out_shift)
 *   5.6.0  out = sat(wrap32(((a*b + R) modulo 2^32) / 2^out_shift)), unsigned: its R is unsigned
 *          and makes the shift a logical one. In a truncate build sat((a*b) >> out_shift).
 *   5.4.0  out = sat(wrap32(a*b + R) >> out_shift)
 *
 * Axes: vectors of `length` elements, 0..2^31 - 1; out_shift 0..31. In place: yes. Scratch: none.
 * Scalar and DSP give the same bits. The releases differ: -2 * 3 with out_shift 1 gives -3 in
 * 5.9.0, and 127 (or 32767) in 5.6.0. In q7 of 5.9.0 the sum wraps: -128 * -128 with out_shift 15
 * gives -1. */
#ifndef QN_Q_MULT_H
#define QN_Q_MULT_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_mult_check(const qn_mult *p, int64_t element, qn_sizes *sizes, char *why) {
    if (qn_shift_in_range("out_shift", p->out_shift, why) != QN_OK) {
        return QN_REFUSED;
    }
    sizes->in[0] = sizes->in[1] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return qn_in_range("blockSize", p->length, 0, INT32_MAX, why);
}

#endif
