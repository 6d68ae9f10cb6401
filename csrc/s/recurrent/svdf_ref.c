/* SVDF of the s8 API, plain. */
#include "svdf.h"

/* element: bytes of one in the state and in the weights. */
static int check(const qn_s_svdf *p, int64_t element, qn_sizes *sizes, char *why) {
    const int wide = element == 2;
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_size", p->input_size, 1, UINT16_MAX},
        {"units", p->units, 1, UINT16_MAX},
        {"rank", p->rank, 1, p->units < 1 ? 1 : UINT16_MAX / p->units},
        {"time_batches", p->time_batches, 1, UINT16_MAX},
        {"input_offset", p->input_offset, INT8_MIN, INT8_MAX},
        {"output_offset", p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"state_offset", p->state_offset, wide ? 0 : -INT8_MAX, wide ? 0 : -INT8_MIN},
        {"newest_offset", p->newest_offset, wide ? 0 : INT8_MIN, wide ? 0 : INT8_MAX},
        {"in_act_min", p->in_act_min, INT16_MIN, INT16_MAX},
        {"in_act_max", p->in_act_max, p->in_act_min, INT16_MAX},
        {"out_act_min", p->out_act_min, INT8_MIN, INT8_MAX},
        {"out_act_max", p->out_act_max, p->out_act_min, INT8_MAX},
        {"in_multiplier", p->in_multiplier, 0, INT32_MAX},
        {"in_shift", p->in_shift, -31, 30},
        {"out_multiplier", p->out_multiplier, 0, INT32_MAX},
        {"out_shift", p->out_shift, -31, 30},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int32_t filters = p->units * p->rank, width = p->input_size + p->time_batches;
    int64_t in = s_elements(1, (int32_t[]){p->batches, p->input_size}, 2);
    int64_t state = s_elements(element, (int32_t[]){p->batches, filters, p->time_batches}, 3);
    int64_t weights = s_elements(element, (int32_t[]){filters, width}, 2);
    int64_t out = s_elements(1, (int32_t[]){p->batches, p->units}, 2);
    if (in < 0 || state < 0 || weights < 0 || out < 0) {
        const char *bad = state < 0     ? "state"
                          : weights < 0 ? "weights"
                          : out < 0     ? "output"
                                        : "input";
        return s_too_large(bad, why);
    }
    sizes->in[0] = in;
    sizes->in[1] = state * element;
    sizes->weights = weights * element;
    sizes->bias = (int64_t)p->units * 4;
    sizes->out = out;
    return QN_OK;
}

int s_svdf_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int s_svdf_s16_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

/* Arrays of 8 bits, or of 16 where wide is set. */
static int32_t get(const void *array, int wide, int64_t i) {
    return wide ? ((const int16_t *)array)[i] : ((const int8_t *)array)[i];
}

static void put(void *array, int wide, int64_t i, int32_t value) {
    if (wide) {
        ((int16_t *)array)[i] = (int16_t)value;
    } else {
        ((int8_t *)array)[i] = (int8_t)value;
    }
}

/* Output of filter f for one vector. lane: does Helium have it in a vector? */
static int32_t feature(const qn_s_svdf *p, int wide, const int8_t *in, const void *weights,
                       int64_t f, int lane) {
    const s_epilogue epilogue = {p->profile, p->newest_offset, p->in_act_min, p->in_act_max};
    uint32_t acc = (uint32_t)svdf_sums(p);
    for (int32_t i = 0; i < p->input_size; i++) {
        acc += (uint32_t)((in[i] - p->input_offset) * get(weights, wide, f * p->input_size + i));
    }
    return s_output_lane(&epilogue, qn_wrap32(acc), p->in_multiplier, p->in_shift, lane);
}

/* The state of one filter, from element `row` on, gets its newest value; its sum over time.
 * own: index of the filter's first weight. */
static uint32_t advance(const qn_s_svdf *p, int wide, void *state, int64_t row, int32_t newest,
                        const void *weights, int64_t own) {
    const int64_t last = p->time_batches - 1;
    uint32_t acc = 0;
    for (int64_t t = 0; t <= last; t++) {
        put(state, wide, row + t, t < last ? get(state, wide, row + t + 1) : newest);
        acc += (uint32_t)(get(state, wide, row + t) * get(weights, wide, own + t));
    }
    return acc;
}

/* group: filters that Helium takes at a time. */
static int run(const qn_s_svdf *p, const qn_buffers *b, int wide, int32_t group) {
    const s_epilogue epilogue = {p->profile, p->output_offset, p->out_act_min, p->out_act_max};
    const int64_t filters = (int64_t)p->units * p->rank, lanes = filters - filters % group;
    const int64_t time = filters * p->input_size, steps = p->time_batches;
    const int32_t *bias = b->bias;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int64_t n = 0; n < p->batches; n++, in += p->input_size) {
        for (int64_t u = 0; u < p->units; u++) {
            uint32_t acc = (uint32_t)bias[u];
            for (int64_t f = u * p->rank; f < (u + 1) * p->rank; f++) {
                int32_t newest = feature(p, wide, in, b->weights, f, f < lanes);
                acc += advance(p, wide, b->in[1], (n * filters + f) * steps, newest, b->weights,
                               time + f * steps);
            }
            int32_t sum = qn_wrap32(acc);
            *out++ = (int8_t)s_output_lane(&epilogue, sum, p->out_multiplier, p->out_shift, 1);
        }
    }
    return QN_OK;
}

int s_svdf_s8_ref(const void *params, const qn_buffers *b) { return run(params, b, 0, 4); }

int s_svdf_s16_s8_ref(const void *params, const qn_buffers *b) { return run(params, b, 1, 3); }
