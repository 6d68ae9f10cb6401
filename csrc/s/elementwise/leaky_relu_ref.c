/* LEAKY_RELU of TensorFlow Lite Micro, and the rescaling of uint8 by real factors, plain. */
#include "kernels.h"
#include "requantize.h"

static int check(const qn_s_leaky_relu *p, const s_type *type, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"length", p->length, 0, (1 << 30) - 1},
        {"input_zero_point", p->input_zero_point, type->low, type->high},
        {"output_zero_point", p->output_zero_point, type->low, type->high},
        {"identity_multiplier", p->identity_multiplier, 0, INT32_MAX},
        {"identity_shift", p->identity_shift, -31, 14},
        {"alpha_multiplier", p->alpha_multiplier, -INT32_MAX, INT32_MAX},
        {"alpha_shift", p->alpha_shift, -31, 14},
    };
    sizes->in[0] = sizes->out = p->length * type->element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_leaky_relu_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, sizes, why);
}

int s_leaky_relu_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s16, sizes, why);
}

static int32_t leaking(const qn_s_leaky_relu *p, const s_type *type, int32_t x) {
    const s_epilogue epilogue = {p->profile, p->output_zero_point, type->low, type->high};
    int32_t value = x - p->input_zero_point;
    if (value < 0 && p->alpha_multiplier < 0) {
        int32_t scaled = qn_requantize(p->profile, value, -p->alpha_multiplier, p->alpha_shift);
        return qn_clamp(p->output_zero_point - scaled, type->low, type->high);
    }
    return value < 0 ? s_output(&epilogue, value, p->alpha_multiplier, p->alpha_shift)
                     : s_output(&epilogue, value, p->identity_multiplier, p->identity_shift);
}

int s_leaky_relu_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_leaky_relu *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)leaking(p, &s_type_s8, in[i]);
    }
    return QN_OK;
}

int s_leaky_relu_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_leaky_relu *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)leaking(p, &s_type_s16, in[i]);
    }
    return QN_OK;
}

int s_rescale_u8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_rescale *p = params;
    int status = qn_in_range("length", p->length, 0, (1 << 30) - 1, why);
    sizes->in[0] = sizes->out = p->length;
    sizes->weights = 2 * 4;
    sizes->in_place = 1;
    return status != QN_OK
               ? status
               : qn_in_range("output_zero_point", p->output_zero_point, 0, UINT8_MAX, why);
}

int s_rescale_u8_ref(const void *params, const qn_buffers *b) {
    const qn_s_rescale *p = params;
    const int32_t *factors = b->weights;
    const uint8_t *in = b->in[0];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t value = qn_rescale_float32(in[i], factors[0], factors[1]);
        out[i] = (uint8_t)qn_clamp(value + p->output_zero_point, 0, UINT8_MAX);
    }
    return QN_OK;
}
