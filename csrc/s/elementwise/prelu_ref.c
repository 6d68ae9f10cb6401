/* PRELU of TensorFlow Lite Micro, plain. */
#include "prelu.h"

static int check(const qn_s_prelu *p, s_type type, qn_sizes *sizes, char *why) {
    const int32_t most = (int32_t)(INT32_MAX / type.element), zeros = type.element == 1;
    const s_range all[] = {
        {"outer", p->outer, 0, most},
        {"inner", p->inner, 1, most / (p->outer > 1 ? p->outer : 1)},
        {"input_zero_point", p->input_zero_point, zeros ? type.low : 0, zeros ? type.high : 0},
        {"alpha_zero_point", p->alpha_zero_point, INT8_MIN, INT8_MAX},
        {"output_zero_point", p->output_zero_point, zeros ? type.low : 0, zeros ? type.high : 0},
        {"identity_multiplier", p->identity_multiplier, 0, INT32_MAX},
        {"identity_shift", p->identity_shift, -31, 14},
        {"alpha_multiplier", p->alpha_multiplier, 0, INT32_MAX},
        {"alpha_shift", p->alpha_shift, -31, zeros ? 14 : 7},
    };
    sizes->in[0] = sizes->out = (int64_t)p->outer * p->inner * type.element;
    sizes->weights = p->inner;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* With a slope for each element in another input. */
static int check_tensor(const qn_s_prelu *p, s_type type, qn_sizes *sizes, char *why) {
    const int status = check(p, type, sizes, why);
    sizes->in[1] = (int64_t)p->outer * p->inner;
    sizes->weights = sizes->in_place = 0;
    return status;
}

int s_prelu_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s8, sizes, why);
}

int s_prelu_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s16, sizes, why);
}

int s_prelu_tensor_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check_tensor(params, s_type_s8, sizes, why);
}

int s_prelu_tensor_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check_tensor(params, s_type_s16, sizes, why);
}

static int32_t output(const qn_s_prelu *p, const s_epilogue *epilogue, int32_t x, int32_t alpha) {
    const int32_t value = x - p->input_zero_point, slope = alpha - p->alpha_zero_point;
    return value < 0 ? s_output(epilogue, value * slope, p->alpha_multiplier, p->alpha_shift)
                     : s_output(epilogue, value, p->identity_multiplier, p->identity_shift);
}

int s_prelu_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const s_epilogue epilogue = {p->profile, p->output_zero_point, INT8_MIN, INT8_MAX};
    const int8_t *in = b->in[0], *alpha = b->weights;
    int8_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            *out++ = (int8_t)output(p, &epilogue, *in++, alpha[i]);
        }
    }
    return QN_OK;
}

int s_prelu_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const s_epilogue epilogue = {p->profile, p->output_zero_point, INT16_MIN, INT16_MAX};
    const int16_t *in = b->in[0];
    const int8_t *alpha = b->weights;
    int16_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            *out++ = (int16_t)output(p, &epilogue, *in++, alpha[i]);
        }
    }
    return QN_OK;
}

int s_prelu_tensor_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const s_epilogue epilogue = {p->profile, p->output_zero_point, INT8_MIN, INT8_MAX};
    const int8_t *in = b->in[0], *alpha = b->in[1];
    int8_t *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->outer * p->inner; i++) {
        out[i] = (int8_t)output(p, &epilogue, in[i], alpha[i]);
    }
    return QN_OK;
}

int s_prelu_tensor_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_prelu *p = params;
    const s_epilogue epilogue = {p->profile, p->output_zero_point, INT16_MIN, INT16_MAX};
    const int16_t *in = b->in[0];
    const int8_t *alpha = b->in[1];
    int16_t *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->outer * p->inner; i++) {
        out[i] = (int16_t)output(p, &epilogue, in[i], alpha[i]);
    }
    return QN_OK;
}
