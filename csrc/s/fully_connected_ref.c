/* Fully connected layers of the s8 API, plain. */
#include "fully_connected.h"

static int check(const qn_s_fc *p, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},
        {"output_c", p->output_c, 1, UINT16_MAX},
        {"input_offset", p->input_offset, -127, 128},
        {"filter_offset", p->filter_offset, -127, 128},
        {"output_offset", p->output_offset, INT8_MIN, INT8_MAX},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, 30},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t in = s_elements(1, (int32_t[]){p->batches, p->input_c}, 2);
    int64_t weights = s_elements(1, (int32_t[]){p->output_c, p->input_c}, 2);
    int64_t out = s_elements(1, (int32_t[]){p->batches, p->output_c}, 2);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in;
    sizes->weights = weights;
    sizes->out = out;
    return QN_OK;
}

int s_fully_connected_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_fc *p = params;
    sizes->bias = (int64_t)p->output_c * 4;
    return check(p, sizes, why);
}

int s_fully_connected_per_channel_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_fc *p = params;
    sizes->bias = (int64_t)p->output_c * 3 * 4;
    return check(p, sizes, why);
}

static int32_t product(const qn_s_fc *p, const int8_t *in, const int8_t *filter, int32_t bias) {
    uint32_t acc = (uint32_t)bias;
    for (int32_t c = 0; c < p->input_c; c++) {
        acc += (uint32_t)((in[c] + p->input_offset) * (filter[c] + p->filter_offset));
    }
    return qn_wrap32(acc);
}

/* multiplier and shift of output o stand `step` * o behind the first. */
static int run(const qn_s_fc *p, const qn_buffers *b, const s_channels *q, int step) {
    const s_stage stage = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_c) {
        const int8_t *filter = b->weights;
        for (int32_t o = 0; o < p->output_c; o++, filter += p->input_c) {
            int32_t acc = product(p, in, filter, q->bias[o]);
            *out++ = (int8_t)s_output(&stage, acc, q->multiplier[step * o], q->shift[step * o]);
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
