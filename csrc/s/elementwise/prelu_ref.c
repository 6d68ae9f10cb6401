/* PRELU of TensorFlow Lite Micro, plain. */
#include "prelu.h"

int s_prelu_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_prelu *p = params;
    const s_range all[] = {
        {"outer", p->outer, 0, (1 << 30) - 1},
        {"inner", p->inner, 1, ((1 << 30) - 1) / (p->outer > 1 ? p->outer : 1)},
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
        {"alpha_zero_point", p->alpha_zero_point, INT8_MIN, INT8_MAX},
        {"output_zero_point", p->output_zero_point, INT8_MIN, INT8_MAX},
        {"identity_multiplier", p->identity_multiplier, 0, INT32_MAX},
        {"identity_shift", p->identity_shift, -31, 14},
        {"alpha_multiplier", p->alpha_multiplier, 0, INT32_MAX},
        {"alpha_shift", p->alpha_shift, -31, 14},
    };
    sizes->in[0] = sizes->out = (int64_t)p->outer * p->inner;
    sizes->weights = p->inner;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_prelu_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const s_epilogue epilogue = {p->profile, p->output_zero_point, INT8_MIN, INT8_MAX};
    const int8_t *in = b->in[0], *alpha = b->weights;
    int8_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            const int32_t value = *in++ - p->input_zero_point;
            const int32_t slope = alpha[i] - p->alpha_zero_point;
            *out++ = (int8_t)(value < 0 ? s_output(&epilogue, value * slope, p->alpha_multiplier,
                                                   p->alpha_shift)
                                        : s_output(&epilogue, value, p->identity_multiplier,
                                                   p->identity_shift));
        }
    }
    return QN_OK;
}
