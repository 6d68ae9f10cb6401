/* Fully connected layers of the s8 and s16 API, plain. */
#include "../wide_sum.h"
#include "fully_connected.h"

/* Bytes of an element and of a bias, ranges of the offsets and of the output, and the most shift.
 * */
typedef struct kind {
    int64_t element, bias;
    int32_t offset_low, offset_high, low, high, shift;
} kind;

static const kind of_s8 = {1, 4, -127, 128, INT8_MIN, INT8_MAX, 30};
static const kind of_s16 = {2, 8, INT32_MIN, INT32_MAX, INT16_MIN, INT16_MAX, 7};
static const kind of_s16_s32 = {2, 4, INT32_MIN, INT32_MAX, INT16_MIN, INT16_MAX, 30};

static int check(const qn_s_fc *p, const kind *k, qn_sizes *sizes, char *why) {
    const int ignored = k->element == 2;
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},
        {"output_c", p->output_c, 1, UINT16_MAX},
        {"input_offset", p->input_offset, k->offset_low, k->offset_high},
        {"filter_offset", p->filter_offset, k->offset_low, k->offset_high},
        {"output_offset", ignored ? 0 : p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"act_min", p->act_min, k->low, k->high},
        {"act_max", p->act_max, p->act_min, k->high},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, k->shift},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t in = s_elements(k->element, (int32_t[]){p->batches, p->input_c}, 2);
    int64_t weights = s_elements(1, (int32_t[]){p->output_c, p->input_c}, 2);
    int64_t out = s_elements(k->element, (int32_t[]){p->batches, p->output_c}, 2);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * k->element;
    sizes->weights = weights;
    sizes->bias = p->output_c * k->bias;
    sizes->out = out * k->element;
    return QN_OK;
}

int s_fully_connected_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_s8, sizes, why);
}

int s_fully_connected_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_s16, sizes, why);
}

int s_fully_connected_s16_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &of_s16_s32, sizes, why);
}

int s_fully_connected_s4_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, &of_s8, sizes, why);
    sizes->weights = (sizes->weights + 1) / 2;
    return status;
}

int s_fully_connected_per_channel_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_fc *p = params;
    if (p->is_per_channel && p->filter_offset != 0 && qn_path(p->profile) == QN_PATH_MVE) {
        return qn_deny(why, QN_REFUSED,
                       "filter_offset must be 0 where each output has its own multiplier: on a "
                       "core with Helium Arm's code takes those of other outputs; is %ld",
                       (long)p->filter_offset);
    }
    int status = check(p, &of_s8, sizes, why);
    sizes->bias *= 3;
    return status;
}

static int32_t product(const qn_s_fc *p, const int8_t *in, const int8_t *filter, int32_t bias) {
    uint32_t acc = (uint32_t)bias;
    for (int32_t c = 0; c < p->input_c; c++) {
        acc += (uint32_t)((in[c] + p->input_offset) * (filter[c] + p->filter_offset));
    }
    return qn_wrap32(acc);
}

/* multiplier and shift of output o stand `step` * o after the first. */
static int run(const qn_s_fc *p, const qn_buffers *b, const s_channels *q, int step) {
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_c) {
        const int8_t *filter = b->weights;
        for (int32_t o = 0; o < p->output_c; o++, filter += p->input_c) {
            int32_t acc = product(p, in, filter, q->bias[o]);
            *out++ = (int8_t)s_output(&epilogue, acc, q->multiplier[step * o], q->shift[step * o]);
        }
    }
    return QN_OK;
}

int s_fully_connected_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_fc *p = params;
    const s_channels q = {b->bias, &p->multiplier, &p->shift};
    return run(p, b, &q, 0);
}

int s_fully_connected_per_channel_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_fc *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    return run(p, b, &q, 1);
}

/* first: index of the first of the row's weights. */
static int32_t product_s4(const qn_s_fc *p, const int8_t *in, const int8_t *packed, int64_t first,
                          int32_t bias) {
    uint32_t acc = (uint32_t)bias;
    for (int32_t c = 0; c < p->input_c; c++) {
        acc += (uint32_t)((in[c] + p->input_offset) * qn_nibble(packed, first + c));
    }
    return qn_wrap32(acc);
}

int s_fully_connected_s4_ref(const void *params, const qn_buffers *b) {
    const qn_s_fc *p = params;
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int32_t *bias = b->bias;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_c) {
        for (int32_t o = 0; o < p->output_c; o++) {
            int32_t acc = product_s4(p, in, b->weights, (int64_t)o * p->input_c, bias[o]);
            *out++ = (int8_t)s_output(&epilogue, acc, p->multiplier, p->shift);
        }
    }
    return QN_OK;
}

int s_fully_connected_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_fc *p = params;
    const s_epilogue epilogue = {p->profile, 0, p->act_min, p->act_max};
    const int64_t *bias = b->bias;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_c) {
        const int8_t *filter = b->weights;
        for (int32_t o = 0; o < p->output_c; o++, filter += p->input_c) {
            int64_t acc = s_wide_sum(p->profile, in, filter, p->input_c, bias[o], 0);
            *out++ = (int16_t)s_output64(&epilogue, acc, p->multiplier, p->shift);
        }
    }
    return QN_OK;
}

int s_fully_connected_s16_s32_ref(const void *params, const qn_buffers *b) {
    const qn_s_fc *p = params;
    const s_epilogue epilogue = {p->profile, 0, p->act_min, p->act_max};
    const int32_t *bias = b->bias;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_c) {
        const int8_t *filter = b->weights;
        for (int32_t o = 0; o < p->output_c; o++, filter += p->input_c) {
            uint32_t acc = (uint32_t)bias[o];
            for (int32_t c = 0; c < p->input_c; c++) {
                acc += (uint32_t)(in[c] * filter[c]);
            }
            *out++ = (int16_t)s_output(&epilogue, qn_wrap32(acc), p->multiplier, p->shift);
        }
    }
    return QN_OK;
}

/* Filter and bias as inputs. */
static int as_inputs(int status, qn_sizes *sizes) {
    sizes->in[1] = sizes->weights;
    sizes->in[2] = sizes->bias;
    sizes->weights = sizes->bias = 0;
    return status;
}

static qn_buffers from_inputs(const qn_buffers *b) {
    qn_buffers own = *b;
    own.weights = b->in[1];
    own.bias = b->in[2];
    return own;
}

int s_fully_connected_tensor_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return as_inputs(check(params, &of_s8, sizes, why), sizes);
}

int s_fully_connected_tensor_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return as_inputs(check(params, &of_s16, sizes, why), sizes);
}

int s_fully_connected_tensor_s16_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return as_inputs(check(params, &of_s16_s32, sizes, why), sizes);
}

int s_fully_connected_tensor_s8_ref(const void *params, const qn_buffers *b) {
    const qn_buffers own = from_inputs(b);
    return s_fully_connected_s8_ref(params, &own);
}

int s_fully_connected_tensor_s16_ref(const void *params, const qn_buffers *b) {
    const qn_buffers own = from_inputs(b);
    return s_fully_connected_s16_ref(params, &own);
}

int s_fully_connected_tensor_s16_s32_ref(const void *params, const qn_buffers *b) {
    const qn_buffers own = from_inputs(b);
    return s_fully_connected_s16_s32_ref(params, &own);
}
