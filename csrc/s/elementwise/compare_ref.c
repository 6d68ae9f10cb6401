/* Comparisons of TensorFlow Lite Micro, plain. */
#include "compare.h"

int s_compare_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_compare *p = params;
    const s_range all[] = {
        {"length", p->length, 0, INT32_MAX},
        {"kind", p->kind, 0, 5},
        {"input_1_offset", p->input_1_offset, -127, 128},
        {"input_1_mult", p->input_1_mult, 0, INT32_MAX},
        {"input_1_shift", p->input_1_shift, -31, 0},
        {"input_2_offset", p->input_2_offset, -127, 128},
        {"input_2_mult", p->input_2_mult, 0, INT32_MAX},
        {"input_2_shift", p->input_2_shift, -31, 0},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->length;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_compare_b8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_compare *p = params;
    const s_range all[] = {{"length", p->length, 0, INT32_MAX}, {"kind", p->kind, 0, 1}};
    sizes->in[0] = sizes->in[1] = sizes->out = p->length;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int holds(int32_t kind, int32_t a, int32_t b) {
    const int answers[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
    return answers[kind];
}

int s_compare_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_compare *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t first = s_tflm_requantize(p->profile, (x[i] + p->input_1_offset) * 256,
                                          p->input_1_mult, p->input_1_shift);
        int32_t second = s_tflm_requantize(p->profile, (y[i] + p->input_2_offset) * 256,
                                           p->input_2_mult, p->input_2_shift);
        out[i] = (uint8_t)holds(p->kind, first, second);
    }
    return QN_OK;
}

int s_compare_b8_ref(const void *params, const qn_buffers *b) {
    const qn_s_compare *p = params;
    const uint8_t *x = b->in[0], *y = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (uint8_t)holds(p->kind, x[i] != 0, y[i] != 0);
    }
    return QN_OK;
}
