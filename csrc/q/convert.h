/* Conversions from q7 to q15 (arm_q7_to_q15_no_shift, arm_q7_to_q15_reordered_no_shift,
 * arm_q7_to_q15_with_offset, arm_q7_to_q15_reordered_with_offset, arm_nn_accumulate_q7_to_q15).
 *
 *   expand             out[i] = in[i]
 *   expand_offset      out[i] = wrap16(in[i] + offset)
 *   accumulate         out[i] = wrap16(in1[i] + in0[i]), in1 and out q15
 *   expand_reordered, expand_reordered_offset
 *                      likewise, but in the order 0, 2, 1, 3 within each whole group of four
 *
 * Axes: one vector of `length` elements, 0..2^31 - 1; offset -32768..32767.
 * In place: only accumulate; out may be in[1]. Scratch: none.
 *
 * Scalar and DSP give the same bits in expand and expand_offset. They differ
 *   - in accumulate: the first length - length%4 sums saturate on DSP. Four times 32767 + 1 gives
 *     -32768 on scalar and 32767 on DSP; one time gives -32768 on both;
 *   - in expand_reordered: 1 2 3 4 stays 1 2 3 4 on scalar and becomes 1 3 2 4 on DSP. In 5.6.0 all
 *     scalar cores except the Cortex-M0 reorder;
 *   - in expand_reordered_offset: without DSP or MVE its body is empty, and the contract refuses.
 * 5.6.0 has only expand and expand_reordered. */
#ifndef QN_Q_CONVERT_H
#define QN_Q_CONVERT_H

#include "../common/contract.h"
#include "kernels.h"

static inline int q_expand_check(const char *name, int32_t length, qn_sizes *sizes, char *why) {
    sizes->in[0] = length;
    sizes->out = (int64_t)length * 2;
    return qn_in_range(name, length, 0, INT32_MAX, why);
}

static inline int q_expand_offset_check(const qn_offset *p, qn_sizes *sizes, char *why) {
    if (qn_in_range("offset", p->offset, INT16_MIN, INT16_MAX, why) != QN_OK) {
        return QN_REFUSED;
    }
    return q_expand_check("block_size", p->length, sizes, why);
}

#endif
