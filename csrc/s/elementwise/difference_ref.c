/* SQUARED_DIFFERENCE of TensorFlow Lite Micro, plain. */
#include "difference.h"

/* The most that a multiplier may be with this shift: a factor of 1/2. */
static int32_t half(int32_t shift) { return shift < 0 ? INT32_MAX : 1 << 30; }

static int check(const qn_s_add *p, s_type type, int32_t left_shift, qn_sizes *sizes, char *why) {
    const int wide = type.element == 2;
    const s_range all[] = {
        {"block_size", p->block_size, 0, (int32_t)(INT32_MAX / type.element)},
        {"input_1_offset", p->input_1_offset, wide ? 0 : -127, wide ? 0 : 128},
        {"input_1_shift", p->input_1_shift, -31, 0},
        {"input_1_mult", p->input_1_mult, 0, half(p->input_1_shift)},
        {"input_2_offset", p->input_2_offset, wide ? 0 : -127, wide ? 0 : 128},
        {"input_2_shift", p->input_2_shift, -31, 0},
        {"input_2_mult", p->input_2_mult, 0, half(p->input_2_shift)},
        {"left_shift", p->left_shift, 0, left_shift},
        {"out_offset", p->out_offset, wide ? 0 : type.low, wide ? 0 : type.high},
        {"out_mult", p->out_mult, 0, INT32_MAX},
        {"out_shift", p->out_shift, -31, 30},
        {"act_min", p->act_min, type.low, type.high},
        {"act_max", p->act_max, p->act_min, type.high},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size * type.element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_squared_difference_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s8, 7, sizes, why);
}

int s_squared_difference_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, s_type_s16, 0, sizes, why);
}

/* x and y: with their offsets. */
static int32_t squared(const qn_s_add *p, int32_t x, int32_t y) {
    const int32_t unit = 1 << p->left_shift;
    int32_t a = s_tflm_requantize(p->profile, x * unit, p->input_1_mult, p->input_1_shift);
    int32_t b = s_tflm_requantize(p->profile, y * unit, p->input_2_mult, p->input_2_shift);
    int32_t scaled = s_tflm_requantize(p->profile, (a - b) * (a - b), p->out_mult, p->out_shift);
    return qn_clamp(qn_add32(scaled, p->out_offset), p->act_min, p->act_max);
}

int s_squared_difference_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (int8_t)squared(p, x[i] + p->input_1_offset, y[i] + p->input_2_offset);
    }
    return QN_OK;
}

int s_squared_difference_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (int16_t)squared(p, x[i], y[i]);
    }
    return QN_OK;
}
