/* Softmax to the base 2 (arm_softmax_q7, arm_softmax_with_batch_q7, arm_softmax_q15): 2^x instead
 * of e^x, in integers. With d = max - x >= 0, both over one row, and / toward zero:
 *
 *   q7, 5.9.0   t(d) = 2^clamp(8 - d, 0, 7)
 *               out = sat8((2^20 / sum of t) >> min(5 + d, 31))
 *   q7, 5.6.0   t(d) = d < 8 ? 2^(8 - d) : 0
 *               out = d < 8 ? sat8((2^20 / sum of t) >> (5 + d)) : 0
 *   q15         t(d) = d < 16 ? 2^(16 - d) : 0
 *               out = d < 16 ? sat16((2^32 / sum of t) >> (1 + d)) : 0
 *   q7, 5.3.0   with base = max(lowest of the row, max - 8) and t(n) = n mod 256 < 32 ? 2^(n mod 256) : 0
 *               out = sat8((t(x - base + 20) / wrap32(sum of t(x - base))) >> 13)
 *   q15, 5.3.0  with base = max(lowest of the row, max - 16), t as there
 *               out = sat16(wrap32(t(x - base + 14)) / wrap32(sum of t(x - base)))
 *   q7, 5.7.0   on DSP: as 5.9.0, but in the first n - n%4 values of a row x - base and then
 *               13 + base - x have 8 bits: wrap8(x - base), wrap8(13 - x + base)
 *
 * In q7 of 5.9.0 the maximum and the value below it both count 128, and no value counts 0.
 *
 * Axes: nb_batches rows of dim_vec elements, index batch*dim_vec + i; one row except in
 * _with_batch. dim_vec 1..32767, nb_batches 0..65535. In place: yes. Scratch: none.
 * Scalar and DSP give the same bits, except in 5.7.0: the row -10 -124 43 33 gives 0 127 127 0 on
 * DSP, and 0 0 127 0 elsewhere. The releases differ in q7: the row 0 0 gives 127 127 in 5.9.0, and
 * 64 64 in 5.6.0; in q15 one value gives 16384 in 5.3.0, and 32767 later. 5.6.0 has no
 * arm_softmax_with_batch_q7. */
#ifndef QN_Q_SOFTMAX_H
#define QN_Q_SOFTMAX_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_softmax_check(const qn_softmax *p, int32_t most_batches, int64_t element,
                                  qn_sizes *sizes, char *why) {
    if (qn_in_range("dim_vec", p->dim_vec, 1, INT16_MAX, why) != QN_OK) {
        return QN_REFUSED;
    }
    if (most_batches == 1 && p->nb_batches != 1) {
        return qn_deny(why, QN_REFUSED, "nb_batches is %ld: this softmax takes one vector",
                       (long)p->nb_batches);
    }
    sizes->in[0] = sizes->out = (int64_t)p->nb_batches * p->dim_vec * element;
    sizes->in_place = 1;
    return qn_in_range("nb_batches", p->nb_batches, 0, most_batches, why);
}

#endif
