/* Sigmoid and tanh of the s16 API, plain. */
#include "activation.h"

int s_activation_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_activation *p = params;
    const s_range all[] = {
        {"size", p->size, 0, INT32_MAX / 2},
        {"left_shift", p->left_shift, -30, 14},
        {"type", p->type, 0, 1},
    };
    sizes->in[0] = sizes->out = (int64_t)p->size * 2;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_activation_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_activation *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->size; i++) {
        int32_t v = s_activation_input(in[i], p->left_shift);
        out[i] = p->type == 0 ? s_sigmoid_s16(v) : s_tanh_s16(v);
    }
    return QN_OK;
}
