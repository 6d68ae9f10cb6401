/* DIV of TensorFlow Lite Micro, plain. */
#include "divide.h"

int s_div_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_div *p = params;
    const s_range all[] = {
        {"length", p->length, 0, INT32_MAX},
        {"input_1_zero_point", p->input_1_zero_point, -256, 255},
        {"input_2_zero_point", p->input_2_zero_point, -256, 255},
        {"output_zero_point", p->output_zero_point, INT8_MIN, INT8_MAX},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, 30},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->length;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* Divides v by w into *out. */
static int divide(const qn_s_div *p, int32_t v, int32_t w, int8_t *out) {
    if (w == 0) {
        return QN_REFUSED;
    }
    const int32_t above = w < 0 ? -v : v, below = w < 0 ? -w : w;
    const int zeros = qn_leading_zeros((uint32_t)below);
    const int signs = qn_leading_zeros((uint32_t)(above < 0 ? -above - 1 : above)) - 1;
    const int shift = p->shift - (31 - zeros) - signs;
    if (shift < -31 || shift > 0 || (signs > 30 && qn_rounding(p->profile) == QN_SINGLE)) {
        return QN_REFUSED;
    }
    const int32_t fraction = qn_wrap32(qn_shl(below, zeros) - (1u << 31));
    int32_t quotient = s_tflm_requantize(p->profile, above, qn_reciprocal(fraction), signs);
    int32_t scaled = s_tflm_requantize(p->profile, quotient, p->multiplier, shift);
    *out = (int8_t)qn_clamp(qn_add32(scaled, p->output_zero_point), p->act_min, p->act_max);
    return QN_OK;
}

int s_div_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_div *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    int status = QN_OK;
    for (int32_t i = 0; i < p->length && status == QN_OK; i++) {
        status = divide(p, x[i] - p->input_1_zero_point, y[i] - p->input_2_zero_point, out + i);
    }
    return status;
}
