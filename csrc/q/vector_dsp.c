/* Saturating vector functions as the DSP extension computes them: a word of lanes at a time. */
#include "../common/arm_dsp.h"
#include "vector.h"

typedef uint32_t lanes(uint32_t, uint32_t);

/* Apply op word by word. The last bytes are copied to a word of their own, and its lanes after them
 * are not stored. */
static void vector_vector(lanes *op, const char *x, const char *y, char *out, int64_t bytes) {
    int64_t i = 0;
    for (; i + 4 <= bytes; i += 4) {
        arm_store(out + i, op(arm_load(x + i), arm_load(y + i)));
    }
    if (i < bytes) {
        size_t rest = (size_t)(bytes - i);
        uint32_t last_x = 0, last_y = 0;
        memcpy(&last_x, x + i, rest);
        memcpy(&last_y, y + i, rest);
        uint32_t last = op(last_x, last_y);
        memcpy(out + i, &last, rest);
    }
}

static void vector_word(lanes *op, const char *x, uint32_t y, char *out, int64_t bytes) {
    int64_t i = 0;
    for (; i + 4 <= bytes; i += 4) {
        arm_store(out + i, op(arm_load(x + i), y));
    }
    if (i < bytes) {
        size_t rest = (size_t)(bytes - i);
        uint32_t last = 0;
        memcpy(&last, x + i, rest);
        last = op(last, y);
        memcpy(out + i, &last, rest);
    }
}

int q_add_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    vector_vector(arm_qadd8, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int q_add_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    vector_vector(arm_qadd16, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

int q_sub_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    vector_vector(arm_qsub8, b->in[0], b->in[1], b->out, p->length);
    return QN_OK;
}

int q_sub_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    vector_vector(arm_qsub16, b->in[0], b->in[1], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

int q_offset_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    uint32_t offset = ((uint32_t)p->offset & 0xffu) * 0x01010101u;
    vector_word(arm_qadd8, b->in[0], offset, b->out, p->length);
    return QN_OK;
}

int q_offset_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    uint32_t offset = arm_halves(p->offset, p->offset);
    vector_word(arm_qadd16, b->in[0], offset, b->out, (int64_t)p->length * 2);
    return QN_OK;
}
