/* LOGISTIC and TANH of TensorFlow Lite Micro, plain. */
#include "logistic.h"

int s_logistic_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_logistic *p = params;
    const int32_t shift = qn_clamp(p->input_left_shift, 0, 30);
    const s_range all[] = {
        {"length", p->length, 0, (1 << 30) - 1},
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
        {"input_multiplier", p->input_multiplier, 0, INT32_MAX},
        {"input_left_shift", p->input_left_shift, 0, 30},
        {"input_range_radius", p->input_range_radius, 0, qn_asr(15 << 27, shift)},
    };
    sizes->in[0] = sizes->out = p->length;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_logistic_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_logistic *p = params;
    const s_range all[] = {
        {"length", p->length, 0, (1 << 30) - 1},
        {"input_multiplier", p->input_multiplier, 0, INT16_MAX},
        {"input_left_shift", p->input_left_shift, 0, p->input_multiplier == 0 ? 1 : 31},
    };
    sizes->in[0] = sizes->out = (int64_t)p->length * 2;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* f: of a float in Q4.27, in Q0.31. n, offset: from there to the output. */
static int8_t output_s8(const qn_s_logistic *p, int8_t in, int32_t (*f)(int32_t), int n,
                        int32_t offset) {
    int32_t x = in - p->input_zero_point;
    if (x <= -p->input_range_radius) {
        return INT8_MIN;
    }
    if (x >= p->input_range_radius) {
        return INT8_MAX;
    }
    /* Not qn_requantize(): no release of CMSIS-NN is asked, and v passes 2^30. */
    int32_t v = qn_rounding(p->profile) == QN_SINGLE
                    ? qn_requantize_single(x, p->input_multiplier, p->input_left_shift)
                    : qn_requantize_double(x, p->input_multiplier, p->input_left_shift);
    return qn_sat8(qn_rdp(f(v), n) + offset);
}

int s_logistic_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = output_s8(p, in[i], qn_logistic_q4, 23, INT8_MIN);
    }
    return QN_OK;
}

int s_tanh_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = output_s8(p, in[i], qn_tanh_q4, 24, 0);
    }
    return QN_OK;
}

/* Table index; |x| * 32767 + 2^30 stays below 2^31. */
static int32_t looked_up(const qn_s_logistic *p, int16_t x) {
    int shift = p->input_left_shift;
    if (p->input_multiplier == 0) {
        return x * (3 << shift);
    }
    int32_t half = shift > 0 ? qn_wrap32(qn_shl(1, shift - 1)) : 0;
    return qn_asr(x * p->input_multiplier + half, shift);
}

int s_logistic_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = s_sigmoid_s16(looked_up(p, in[i]));
    }
    return QN_OK;
}

int s_tanh_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_logistic *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = s_tanh_s16(looked_up(p, in[i]));
    }
    return QN_OK;
}
