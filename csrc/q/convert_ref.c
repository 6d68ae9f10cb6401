/* Conversions from q7 to q15, plain. */
#include "convert.h"

int q_expand_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    return q_expand_check("blockSize", p->length, sizes, why);
}

int q_expand_reordered_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_expand_q7_q15_check(params, sizes, why);
}

int q_expand_offset_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_expand_offset_check(params, sizes, why);
}

int q_expand_reordered_offset_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_offset *p = params;
    if (!qn_is_dsp(p->profile) && qn_path(p->profile) != QN_PATH_MVE) {
        return qn_deny(why, QN_REFUSED,
                       "arm_q7_to_q15_reordered_with_offset does nothing on a core without the DSP "
                       "extension (its body is empty)");
    }
    return q_expand_offset_check(p, sizes, why);
}

int q_accumulate_q7_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[1] = (int64_t)p->length * 2;
    sizes->in_place = 1;
    return q_expand_check("length", p->length, sizes, why);
}

int q_expand_q7_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = in[i];
    }
    return QN_OK;
}

int q_expand_reordered_q7_q15_ref(const void *params, const qn_buffers *b) {
    return q_expand_q7_q15_ref(params, b);
}

int q_expand_offset_q7_q15_ref(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    const int8_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap16(in[i] + p->offset);
    }
    return QN_OK;
}

int q_accumulate_q7_q15_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    const int16_t *before = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap16(before[i] + in[i]);
    }
    return QN_OK;
}
