/* HARD_SWISH of TensorFlow Lite Micro, plain. */
#include "hard_swish.h"

int s_hard_swish_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_hard_swish *p = params;
    const s_range all[] = {
        {"length", p->length, 0, INT32_MAX},
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
        {"output_zero_point", p->output_zero_point, INT8_MIN, INT8_MAX},
        {"output_multiplier", p->output_multiplier, 0, INT32_MAX},
        {"output_shift", p->output_shift, -31, 0},
        {"reluish_multiplier", p->reluish_multiplier, 0, INT32_MAX},
        {"reluish_shift", p->reluish_shift, -31, 30},
    };
    sizes->in[0] = sizes->out = p->length;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int32_t high(int32_t a, int32_t b) { return qn_sat16(qn_asr(a * b + (1 << 14), 15)); }

static int32_t divided(int32_t a, int n) { return n < 16 ? qn_rdp(a, n) : a < 0 ? -1 : 1; }

/* n: 0..29. */
static int32_t raised(int32_t a, int n) {
    return (int32_t)qn_clamp64((int64_t)a * ((int64_t)1 << n), INT16_MIN, INT16_MAX);
}

static int32_t share(const qn_s_hard_swish *p, int32_t v) {
    const int32_t multiplier = qn_multiplier16(p->reluish_multiplier);
    if (p->reluish_shift > 0) {
        return raised(high(raised(v, p->reluish_shift - 1), multiplier), 1);
    }
    return divided(high(v, multiplier), -p->reluish_shift);
}

int s_hard_swish_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_hard_swish *p = params;
    const int32_t multiplier = qn_multiplier16(p->output_multiplier);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t v = (in[i] - p->input_zero_point) * 128;
        int32_t whole = qn_asr(share(p, v) + (1 << 15), 1) * high(v, multiplier) / (1 << 15);
        out[i] = qn_sat8(divided(whole, -p->output_shift) + p->output_zero_point);
    }
    return QN_OK;
}
