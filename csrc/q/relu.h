/* Rectifiers (arm_relu_q7, arm_relu_q15, arm_relu6_s8).
 *
 *   relu   out[i] = max(in[i], 0)
 *   relu6  out[i] = min(max(in[i], 0), 6), of the raw integer: no fixed-point format is applied
 *
 * Axes: one vector of `length` elements, 0..65535 (the device's size is a uint16_t). In place: yes.
 * Scratch: none. Scalar and DSP give the same bits. The DSP model clears the negative lanes of a
 * word with a mask of their sign bits. 5.6.0 has no arm_relu6_s8. 7.0.0 has all three functions,
 * and both of its roundings give the same bits. */
#ifndef QN_Q_RELU_H
#define QN_Q_RELU_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_relu_check(const qn_vector *p, int64_t element, qn_sizes *sizes, char *why) {
    sizes->in[0] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return qn_in_range("size", p->length, 0, UINT16_MAX, why);
}

#endif
