/* Softmax and its logarithm of ESP-DL, plain. */
#include "floats.h"

static int check(const qn_dl_softmax *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"size", p->size, 1, INT32_MAX},
        {"inner", p->inner, 1, INT32_MAX},
        {"input_exponent", p->input_exponent, -30, 30},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    const int64_t count = s_elements(4, (int32_t[]){p->outer, p->size, p->inner}, 3);
    sizes->in[0] = count * element;
    sizes->out = count * 4;
    return status == QN_OK && count < 0 ? s_too_large("output", why) : status;
}

int s_dl_softmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int s_dl_softmax_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

/* A row: inputs of a call, the index of its first element, and the maximum that is subtracted. */
typedef struct row {
    const qn_dl_softmax *p;
    const void *in;
    int64_t first;
    float scale, most;
    int is_wide;
} row;

static float value(const row *r, int32_t i) {
    const int64_t x = s_dl_at(r->in, r->first + (int64_t)i * r->p->inner, r->is_wide);
    return s_dl_mul((float)x, r->scale);
}

static float less_most(const row *r, int32_t i) {
    return r->is_wide ? s_dl_sum(value(r, i), -r->most) : value(r, i);
}

static row row_at(const qn_dl_softmax *p, const qn_buffers *b, int32_t o, int32_t k, int is_wide) {
    row r = {p, b->in[0], (int64_t)o * p->size * p->inner + k, s_dl_power(p->input_exponent),
             0, is_wide};
    r.most = value(&r, 0);
    for (int32_t i = 1; i < p->size; i++) {
        const float x = value(&r, i);
        r.most = x > r.most ? x : r.most;
    }
    return r;
}

static float sum_of_powers(const row *r) {
    float sum = 0;
    for (int32_t i = 0; i < r->p->size; i++) {
        sum = s_dl_sum(sum, qn_exp_f32(less_most(r, i)));
    }
    return sum;
}

static int softmax(const qn_dl_softmax *p, const qn_buffers *b, int is_log, int is_wide) {
    float *out = b->out;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t k = 0; k < p->inner; k++) {
            const row r = row_at(p, b, o, k, is_wide);
            const float sum = sum_of_powers(&r), log = is_log ? qn_log_f32(sum) : 0;
            for (int32_t i = 0; i < p->size; i++) {
                const float x = less_most(&r, i);
                out[r.first + (int64_t)i * p->inner] =
                    is_log ? s_dl_sum(x, -log) : s_dl_div(qn_exp_f32(x), sum);
            }
        }
    }
    return QN_OK;
}

int s_dl_softmax_s8_ref(const void *params, const qn_buffers *b) {
    return softmax(params, b, 0, 0);
}

int s_dl_softmax_s16_ref(const void *params, const qn_buffers *b) {
    return softmax(params, b, 0, 1);
}

int s_dl_log_softmax_s8_ref(const void *params, const qn_buffers *b) {
    return softmax(params, b, 1, 0);
}

int s_dl_log_softmax_s16_ref(const void *params, const qn_buffers *b) {
    return softmax(params, b, 1, 1);
}
