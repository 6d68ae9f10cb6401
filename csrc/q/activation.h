/* Table activations (arm_nn_activations_direct_q7, _q15): sigmoid for type 0, otherwise tanh.
 *
 * T has 256 entries. Entry n is the value at u = (n < 128 ? n : n - 256) / 16, so -8 <= u < 8.
 *
 *   q7   out = T7[low 8 bits of x >> (3 - int_width)]
 *   q15  out = floor(((2^s - f) * T15[i] + f * T15[i + 1]) / 2^s)
 *        with s = 11 - int_width, i = x >> s, f = the low s bits of x.
 *        5.9.0 uses the low 8 bits of both indices: i = -1 interpolates from T15[255] to T15[0],
 *        and i = 127 gives T15[127] without interpolation. 5.6.0 clamps both indices to 0..255:
 *        every i < 0 gives T15[0] (tanh 0, sigmoid 16384), and i = 127 interpolates towards
 *        T15[128], at u = -8.
 *
 * Axes: one vector of `length` elements, 0..65535. int_width 0..3. In place: yes. Scratch: none.
 * Scalar and DSP give the same bits. The releases differ in q15: sigmoid, int_width 3, x = -256
 * gives 15872 (u = -1/16) in 5.9.0, and 16384 in 5.6.0. */
#ifndef QN_Q_ACTIVATION_H
#define QN_Q_ACTIVATION_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_activation_check(const qn_activation *p, int64_t element, qn_sizes *sizes,
                                     char *why) {
    if (qn_in_range("size", p->length, 0, UINT16_MAX, why) != QN_OK) {
        return QN_REFUSED;
    }
    sizes->in[0] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return qn_in_range("int_width", p->int_width, 0, 3, why);
}

#endif
