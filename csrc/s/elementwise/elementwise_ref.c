/* Sums and differences of two vectors, plain. */
#include "elementwise.h"

/* The legal offsets of an input and of the output, its type's range, the most left_shift, and the
 * least multiplier of an input. */
typedef struct limits {
    int64_t element;
    int32_t in_low, in_high, out_low, out_high, low, high, left_shift, least;
} limits;

static const limits of_s8 = {1,        -127,     128, -S_OFFSET_MOST, S_OFFSET_MOST,
                             INT8_MIN, INT8_MAX, 21,  -INT32_MAX};
static const limits of_u8 = {1, -255, 0, 0, UINT8_MAX, 0, UINT8_MAX, 21, 0};
static const limits of_s16 = {2, INT32_MIN, INT32_MAX, 0, 0, INT16_MIN, INT16_MAX, 15, 0};

static int check(const qn_s_add *p, const limits *l, qn_sizes *sizes, char *why) {
    const int ignored = l->element == 2;
    const s_range all[] = {
        {"block_size", p->block_size, 0, (int32_t)(INT32_MAX / l->element)},
        {"input_1_offset", p->input_1_offset, l->in_low, l->in_high},
        {"input_1_mult", p->input_1_mult, l->least, INT32_MAX},
        {"input_1_shift", p->input_1_shift, -31, 0},
        {"input_2_offset", p->input_2_offset, l->in_low, l->in_high},
        {"input_2_mult", p->input_2_mult, l->least, INT32_MAX},
        {"input_2_shift", p->input_2_shift, -31, 0},
        {"left_shift", p->left_shift, 0, l->left_shift},
        {"out_offset", ignored ? 0 : p->out_offset, l->out_low, l->out_high},
        {"out_mult", p->out_mult, 0, INT32_MAX},
        {"out_shift", p->out_shift, -31, 0},
        {"act_min", p->act_min, l->low, l->high},
        {"act_max", p->act_max, p->act_min, l->high},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size * l->element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_elementwise_add_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_s8, sizes, why);
}

int s_elementwise_add_u8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_u8, sizes, why);
}

int s_elementwise_add_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_s16, sizes, why);
}

/* x and y: with their offsets. sign: 1 of a sum, -1 of a difference. */
static int32_t combined(const qn_s_add *p, int32_t x, int32_t y, int32_t sign) {
    const s_epilogue epilogue = {p->profile, p->out_offset, p->act_min, p->act_max};
    int32_t a = qn_requantize(p->profile, qn_wrap32(qn_shl(x, p->left_shift)), p->input_1_mult,
                              p->input_1_shift);
    int32_t b = qn_requantize(p->profile, qn_wrap32(qn_shl(y, p->left_shift)), p->input_2_mult,
                              p->input_2_shift);
    int32_t sum = sign > 0 ? qn_add32(a, b) : qn_sub32(a, b);
    return s_output(&epilogue, sum, p->out_mult, p->out_shift);
}

static int combine_s8(const qn_s_add *p, const qn_buffers *b, int32_t sign) {
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (int8_t)combined(p, x[i] + p->input_1_offset, y[i] + p->input_2_offset, sign);
    }
    return QN_OK;
}

static int combine_s16(const qn_s_add *p, const qn_buffers *b, int32_t sign) {
    qn_s_add without = *p;
    without.out_offset = 0;
    const int16_t *x = b->in[0], *y = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (int16_t)combined(&without, x[i], y[i], sign);
    }
    return QN_OK;
}

int s_elementwise_add_s8_ref(const void *params, const qn_buffers *b) {
    return combine_s8(params, b, 1);
}

int s_elementwise_sub_s8_ref(const void *params, const qn_buffers *b) {
    return combine_s8(params, b, -1);
}

int s_elementwise_add_s16_ref(const void *params, const qn_buffers *b) {
    return combine_s16(params, b, 1);
}

int s_elementwise_sub_s16_ref(const void *params, const qn_buffers *b) {
    return combine_s16(params, b, -1);
}

int s_elementwise_add_u8_ref(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const uint8_t *x = b->in[0], *y = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] = (uint8_t)combined(p, x[i] + p->input_1_offset, y[i] + p->input_2_offset, 1);
    }
    return QN_OK;
}

int s_elementwise_add_s8_dsp(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        int32_t lanes = i < p->block_size / 4 * 4 ? UINT16_MAX : -1; /* -1 keeps all bits */
        int32_t a = (x[i] + p->input_1_offset) & lanes, c = (y[i] + p->input_2_offset) & lanes;
        out[i] = (int8_t)combined(p, a, c, 1);
    }
    return QN_OK;
}

int s_add_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_s_add *)params)->block_size};
    return QN_OK;
}
