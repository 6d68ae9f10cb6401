/* Changes of scale of TensorFlow Lite Micro, plain. */
#include "kernels.h"
#include "requantize.h"

static int check(const qn_s_requantize *p, const s_type *in, const s_type *out, qn_sizes *sizes,
                 char *why) {
    const int32_t most = 1 << 30;
    const s_range all[] = {
        {"length", p->length, 0, (1 << 30) - 1},
        {"input_zero_point", p->input_zero_point, in->low, in->high},
        {"output_zero_point", p->output_zero_point, out->low < -most ? -most : out->low,
         out->high > most ? most : out->high},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, 14},
        {"act_min", p->act_min, out->low, out->high},
        {"act_max", p->act_max, p->act_min, out->high},
    };
    sizes->in[0] = p->length * in->element;
    sizes->out = p->length * out->element;
    sizes->in_place = in->element == out->element;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_requantize_s8_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, &s_type_s8, sizes, why);
}

int s_requantize_s8_u8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, &s_type_u8, sizes, why);
}

int s_requantize_u8_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_u8, &s_type_s8, sizes, why);
}

int s_requantize_s8_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, &s_type_s16, sizes, why);
}

int s_requantize_s16_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s16, &s_type_s8, sizes, why);
}

int s_requantize_s16_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s16, &s_type_s16, sizes, why);
}

int s_requantize_s16_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s16, &s_type_s32, sizes, why);
}

int s_requantize_s8_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, &s_type_s32, sizes, why);
}

int s_requantize_s32_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s32, &s_type_s8, sizes, why);
}

int s_requantize_s32_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s32, &s_type_s16, sizes, why);
}

static int32_t requantized(const qn_s_requantize *p, int32_t x) {
    const s_epilogue epilogue = {p->profile, p->output_zero_point, p->act_min, p->act_max};
    return s_output(&epilogue, qn_sub32(x, p->input_zero_point), p->multiplier, p->shift);
}

int s_requantize_s8_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s8_u8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (uint8_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_u8_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const uint8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s8_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s16_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int16_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s16_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s16_s32_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int16_t *in = b->in[0];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s8_s32_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int8_t *in = b->in[0];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s32_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int32_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)requantized(p, in[i]);
    }
    return QN_OK;
}

int s_requantize_s32_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_requantize *p = params;
    const int32_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)requantized(p, in[i]);
    }
    return QN_OK;
}
