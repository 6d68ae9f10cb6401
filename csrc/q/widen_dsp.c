/* Conversions of q7 vectors to q15, a word of four values at a time. */
#include "../common/arm_dsp.h"
#include "widen.h"

void q_widen_in_order(const int8_t *in, int32_t length, int16_t *out) {
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        uint32_t first, second;
        arm_expand(arm_load(in + i), &first, &second);
        arm_store(out + i, first);
        arm_store(out + i + 2, second);
    }
    for (; i < length; i++) {
        out[i] = in[i];
    }
}

void q_widen_reordered(const int8_t *in, int32_t length, int16_t *out) {
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        uint32_t first, second;
        arm_expand_reordered(arm_load(in + i), &first, &second);
        arm_store(out + i, first);
        arm_store(out + i + 2, second);
    }
    for (; i < length; i++) {
        out[i] = in[i];
    }
}
