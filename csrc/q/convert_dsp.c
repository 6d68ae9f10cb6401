/* Conversions from q7 to q15 as the DSP extension computes them: four values at a time, and the
 * rest one by one. */
#include "../common/arm_dsp.h"
#include "convert.h"
#include "widen.h"

int q_expand_q7_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    q_widen_in_order(b->in[0], p->length, b->out);
    return QN_OK;
}

int q_expand_reordered_offset_q7_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const int8_t *in = b->in[0];
    int16_t *out = b->out;
    uint32_t offset = arm_halves(p->offset, p->offset);
    int32_t i = 0;
    for (; i < p->length - 3; i += 4) {
        uint32_t first, second;
        arm_expand_reordered(arm_load(in + i), &first, &second);
        arm_store(out + i, arm_sadd16(first, offset));
        arm_store(out + i + 2, arm_sadd16(second, offset));
    }
    for (; i < p->length; i++) {
        out[i] = qn_wrap16(in[i] + p->offset);
    }
    return QN_OK;
}

int q_expand_reordered_q7_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    q_widen_reordered(b->in[0], p->length, b->out);
    return QN_OK;
}

int q_accumulate_q7_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    const int16_t *before = b->in[1];
    int16_t *out = b->out;
    int32_t i = 0;
    for (; i < p->length - 3; i += 4) {
        uint32_t first, second;
        arm_expand(arm_load(in + i), &first, &second);
        arm_store(out + i, arm_qadd16(arm_load(before + i), first));
        arm_store(out + i + 2, arm_qadd16(arm_load(before + i + 2), second));
    }
    for (; i < p->length; i++) {
        out[i] = qn_wrap16(before[i] + in[i]);
    }
    return QN_OK;
}
