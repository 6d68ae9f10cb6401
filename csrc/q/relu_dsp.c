/* Rectifiers as the DSP extension computes them: a word of lanes at a time, masked. */
#include "../common/arm_dsp.h"
#include "relu.h"

int q_relu_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    int32_t i = 0;
    for (; i + 4 <= p->length; i += 4) {
        uint32_t word = arm_load(in + i);
        uint32_t signs = arm_ror(word & 0x80808080u, 7); /* 1 in each negative lane */
        arm_store(out + i, word & ~arm_qsub8(0, signs)); /* 0 - 1 = 0xff clears the lane */
    }
    for (; i < p->length; i++) {
        out[i] = in[i] < 0 ? 0 : in[i];
    }
    return QN_OK;
}

int q_relu_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int32_t i = 0;
    for (; i + 2 <= p->length; i += 2) {
        uint32_t word = arm_load(in + i);
        uint32_t signs = arm_ror(word & 0x80008000u, 15);
        arm_store(out + i, word & ~arm_qsub16(0, signs));
    }
    for (; i < p->length; i++) {
        out[i] = in[i] < 0 ? 0 : in[i];
    }
    return QN_OK;
}
