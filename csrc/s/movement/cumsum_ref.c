/* Sums along an axis so far, plain. */
#include "cumsum.h"

enum { LEFT_SHIFT = 20 };

static int check(const qn_s_cumsum *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX}, {"side", p->side, 1, INT32_MAX},
        {"inner", p->inner, 1, INT32_MAX}, {"exclusive", p->exclusive, 0, 1},
        {"reverse", p->reverse, 0, 1},
    };
    const int32_t sides[] = {p->outer, p->side, p->inner};
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    return status == QN_OK ? s_moved(element, sides, 3, sides, 3, sizes, why) : status;
}

int s_cumsum_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_cumsum *p = params;
    const s_range all[] = {
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
        {"output_zero_point", p->output_zero_point, INT8_MIN, INT8_MAX},
        {"input_multiplier", p->input_multiplier, 0, INT32_MAX},
        {"input_shift", p->input_shift, -31, 0},
        {"output_multiplier", p->output_multiplier, 0, INT32_MAX},
        {"output_shift", p->output_shift, -31, 0},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    return status == QN_OK ? check(p, 1, sizes, why) : status;
}

int s_cumsum_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 4, sizes, why);
}

/* The index of element k of a line that begins at `first`. */
static int64_t index_of(const qn_s_cumsum *p, int64_t first, int32_t k) {
    return first + (int64_t)(p->reverse ? p->side - 1 - k : k) * p->inner;
}

static int32_t scaled(const qn_s_cumsum *p, int32_t value) {
    return qn_requantize(p->profile, value * (1 << LEFT_SHIFT), p->input_multiplier,
                         p->input_shift);
}

static void sum_s8(const qn_s_cumsum *p, const int8_t *in, int64_t first, int8_t *out) {
    int32_t sum = scaled(p, -p->input_zero_point);
    for (int32_t k = 0; k < p->side; k++) {
        const int64_t i = index_of(p, first, k);
        const int32_t next = qn_add32(sum, scaled(p, in[i] - p->input_zero_point));
        const int32_t wide = qn_requantize(p->profile, p->exclusive ? sum : next,
                                           p->output_multiplier, p->output_shift);
        out[i] = qn_sat8(qn_add32(wide, p->output_zero_point));
        sum = next;
    }
}

static void sum_f32(const qn_s_cumsum *p, const float *in, int64_t first, float *out) {
    float sum = 0;
    for (int32_t k = 0; k < p->side; k++) {
        const int64_t i = index_of(p, first, k);
        const float next = sum + in[i];
        out[i] = p->exclusive ? sum : next;
        sum = next;
    }
}

int s_cumsum_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_cumsum *p = params;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            sum_s8(p, b->in[0], (int64_t)o * p->side * p->inner + i, b->out);
        }
    }
    return QN_OK;
}

int s_cumsum_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_cumsum *p = params;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            sum_f32(p, b->in[0], (int64_t)o * p->side * p->inner + i, b->out);
        }
    }
    return QN_OK;
}
