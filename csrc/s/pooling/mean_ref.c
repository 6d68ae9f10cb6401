/* MEAN and SUM of TensorFlow Lite Micro, plain. */
#include "mean.h"

static int check(const qn_s_mean *p, const s_type *type, int32_t most, qn_sizes *sizes, char *why) {
    const int32_t sides[] = {p->kept_0, p->reduced_0, p->kept_1, p->reduced_1, p->kept_2};
    const s_range all[] = {
        {"kept_0", p->kept_0, 1, INT32_MAX},
        {"reduced_0", p->reduced_0, 1, most},
        {"kept_1", p->kept_1, 1, INT32_MAX},
        {"reduced_1", p->reduced_1, 1, most / (p->reduced_0 > 0 ? p->reduced_0 : 1)},
        {"kept_2", p->kept_2, 1, INT32_MAX},
        {"input_zero_point", p->input_zero_point, type->low, type->high},
        {"output_zero_point", p->output_zero_point, type->low, type->high},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, 13},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = s_elements(type->element, sides, 5);
    if (elements < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = elements * type->element;
    sizes->out = sizes->in[0] / p->reduced_0 / p->reduced_1;
    return QN_OK;
}

int s_mean_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s8, 1 << 23, sizes, why);
}

int s_mean_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &s_type_s16, INT16_MAX, sizes, why);
}

typedef int32_t s_reader(const void *in, int64_t i);

static int32_t read_s8(const void *in, int64_t i) { return ((const int8_t *)in)[i]; }
static int32_t read_s16(const void *in, int64_t i) { return ((const int16_t *)in)[i]; }

/* The sum of one output; kept_0, kept_1, kept_2: its indices. */
static int32_t sum_at(const qn_s_mean *p, const void *in, s_reader *read, int32_t kept_0,
                      int32_t kept_1, int32_t kept_2) {
    int32_t sum = 0;
    for (int32_t r0 = 0; r0 < p->reduced_0; r0++) {
        int64_t row = ((int64_t)kept_0 * p->reduced_0 + r0) * p->kept_1 + kept_1;
        for (int32_t r1 = 0; r1 < p->reduced_1; r1++) {
            sum += read(in, (row * p->reduced_1 + r1) * p->kept_2 + kept_2) - p->input_zero_point;
        }
    }
    return sum;
}

/* One output, in their order. */
static int32_t output(const qn_s_mean *p, const s_type *type, s_mean_scale scale, const void *in,
                      s_reader *read, int64_t i) {
    const s_epilogue epilogue = {p->profile, p->output_zero_point, type->low, type->high};
    int64_t row = i / p->kept_2;
    int32_t sum = sum_at(p, in, read, (int32_t)(row / p->kept_1), (int32_t)(row % p->kept_1),
                         (int32_t)(i % p->kept_2));
    return s_output(&epilogue, sum, scale.multiplier, scale.shift);
}

static int run_s8(const qn_s_mean *p, s_mean_scale scale, const qn_buffers *b) {
    int8_t *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->kept_0 * p->kept_1 * p->kept_2; i++) {
        out[i] = (int8_t)output(p, &s_type_s8, scale, b->in[0], read_s8, i);
    }
    return QN_OK;
}

static int run_s16(const qn_s_mean *p, s_mean_scale scale, const qn_buffers *b) {
    int16_t *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->kept_0 * p->kept_1 * p->kept_2; i++) {
        out[i] = (int16_t)output(p, &s_type_s16, scale, b->in[0], read_s16, i);
    }
    return QN_OK;
}

int s_mean_s8_ref(const void *params, const qn_buffers *b) {
    return run_s8(params, s_mean_scale_of(params), b);
}

int s_mean_s16_ref(const void *params, const qn_buffers *b) {
    return run_s16(params, s_mean_scale_of(params), b);
}

int s_sum_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_mean *p = params;
    return run_s8(p, (s_mean_scale){p->multiplier, p->shift}, b);
}

int s_sum_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_mean *p = params;
    return run_s16(p, (s_mean_scale){p->multiplier, p->shift}, b);
}
