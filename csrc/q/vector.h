/* Saturating vector functions of CMSIS-DSP (arm_mult, arm_add, arm_sub, arm_offset; _q7 and _q15),
 * and arm_nn_add_q7. B is the width of the type, 8 or 16:
 *
 *   mult    out[i] = satB((a[i] * b[i]) >> (B - 1))
 *   add     out[i] = satB(a[i] + b[i])
 *   sub     out[i] = satB(a[i] - b[i])
 *   offset  out[i] = satB(a[i] + offset)
 *   nn_add  out[0] = the int32 sum of all a[i], modulo 2^32
 *
 * Axes: vectors of `length` elements, 0..2^31 - 1; offset in the range of the type.
 * In place: yes (nn_add: no). Scratch: none. Scalar and DSP give the same bits. 5.6.0 has no
 * arm_nn_add_q7. */
#ifndef QN_Q_VECTOR_H
#define QN_Q_VECTOR_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_vector_check(const qn_vector *p, int64_t element, qn_sizes *sizes, char *why) {
    sizes->in[0] = sizes->in[1] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return qn_in_range("blockSize", p->length, 0, INT32_MAX, why);
}

static inline int q_offset_check(const qn_offset *p, int64_t element, int32_t low, int32_t high,
                                 qn_sizes *sizes, char *why) {
    if (qn_in_range("offset", p->offset, low, high, why) != QN_OK) {
        return QN_REFUSED;
    }
    sizes->in[0] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return qn_in_range("blockSize", p->length, 0, INT32_MAX, why);
}

#endif
