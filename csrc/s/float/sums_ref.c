/* Reductions, L2_NORMALIZATION and BATCH_MATMUL of float32, plain. */
#include <float.h>

#include "sums.h"

int s_reduce_f32_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_reduce *p = params;
    const int32_t sides[] = {p->kept_0, p->reduced_0, p->kept_1, p->reduced_1, p->kept_2};
    const s_range all[] = {
        {"what", p->what, QN_F_SUM, QN_F_REDUCE_MIN}, {"kept_0", p->kept_0, 1, INT32_MAX},
        {"reduced_0", p->reduced_0, 1, INT32_MAX},    {"kept_1", p->kept_1, 1, INT32_MAX},
        {"reduced_1", p->reduced_1, 1, INT32_MAX},    {"kept_2", p->kept_2, 1, INT32_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = s_elements(4, sides, 5);
    if (elements < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = elements * 4;
    sizes->out = sizes->in[0] / p->reduced_0 / p->reduced_1;
    return QN_OK;
}

static float reduced(int32_t what, float a, float x) {
    switch (what) {
        case QN_F_REDUCE_MAX:
            return x > a ? x : a;
        case QN_F_REDUCE_MIN:
            return x < a ? x : a;
        default:
            return a + x;
    }
}

int s_reduce_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_reduce *p = params;
    const float *in = b->in[0];
    float *out = b->out;
    const float count = (float)((int64_t)p->reduced_0 * p->reduced_1);
    const float start = p->what == QN_F_REDUCE_MAX   ? -FLT_MAX
                        : p->what == QN_F_REDUCE_MIN ? FLT_MAX
                                                     : 0.0f;
    for (int64_t i = 0; i < (int64_t)p->kept_0 * p->kept_1 * p->kept_2; i++) {
        const int64_t kept_2 = i % p->kept_2, kept_1 = i / p->kept_2 % p->kept_1;
        const int64_t kept_0 = i / p->kept_2 / p->kept_1;
        float sum = start;
        for (int32_t r0 = 0; r0 < p->reduced_0; r0++) {
            const int64_t row = (kept_0 * p->reduced_0 + r0) * p->kept_1 + kept_1;
            for (int32_t r1 = 0; r1 < p->reduced_1; r1++) {
                sum = reduced(p->what, sum, in[(row * p->reduced_1 + r1) * p->kept_2 + kept_2]);
            }
        }
        out[i] = p->what == QN_F_MEAN ? sum / count : sum;
    }
    return QN_OK;
}

static int sides_fit(const char *axis, int32_t lhs, int32_t rhs, char *why) {
    if (lhs != rhs && lhs != 1 && rhs != 1) {
        return qn_deny(why, QN_REFUSED,
                       "lhs_%s and rhs_%s must be equal, or one of them 1: %ld and %ld", axis, axis,
                       (long)lhs, (long)rhs);
    }
    return QN_OK;
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

int s_float_bmm_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_bmm *p = params;
    const s_range all[] = {
        {"lhs_n", p->lhs_n, 1, UINT16_MAX},
        {"lhs_h", p->lhs_h, 1, UINT16_MAX},
        {"rhs_n", p->rhs_n, 1, UINT16_MAX},
        {"rhs_h", p->rhs_h, 1, UINT16_MAX},
        {"rows", p->rows, 1, UINT16_MAX},
        {"depth", p->depth, 1, UINT16_MAX},
        {"columns", p->columns, 1, UINT16_MAX},
        {"adj_x", p->adj_x, 0, 1},
        {"adj_y", p->adj_y, 0, 1},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    status = status == QN_OK ? sides_fit("n", p->lhs_n, p->rhs_n, why) : status;
    status = status == QN_OK ? sides_fit("h", p->lhs_h, p->rhs_h, why) : status;
    if (status != QN_OK) {
        return status;
    }
    const int32_t lhs[] = {p->lhs_n, p->lhs_h, p->rows, p->depth};
    const int32_t rhs[] = {p->rhs_n, p->rhs_h, p->depth, p->columns};
    const int32_t out[] = {larger(p->lhs_n, p->rhs_n), larger(p->lhs_h, p->rhs_h), p->rows,
                           p->columns};
    sizes->in[0] = s_elements(4, lhs, 4) * 4;
    sizes->in[1] = s_elements(4, rhs, 4) * 4;
    sizes->out = s_elements(4, out, 4) * 4;
    if (sizes->in[0] < 0 || sizes->in[1] < 0 || sizes->out < 0) {
        return s_too_large(sizes->out < 0 ? "output" : "input", why);
    }
    return QN_OK;
}

/* One matrix of the output. */
static void multiply(const qn_s_float_bmm *p, const float *lhs, const float *rhs, float *out) {
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = 0; c < p->columns; c++) {
            float sum = 0;
            for (int64_t k = 0; k < p->depth; k++) {
                const float left = lhs[p->adj_x ? k * p->rows + r : r * p->depth + k];
                const float product = left * rhs[p->adj_y ? c * p->depth + k : k * p->columns + c];
                sum += product;
            }
            *out++ = sum;
        }
    }
}

int s_float_bmm_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_bmm *p = params;
    const float *lhs = b->in[0], *rhs = b->in[1];
    float *out = b->out;
    const int64_t left = (int64_t)p->rows * p->depth, right = (int64_t)p->depth * p->columns;
    for (int32_t n = 0; n < larger(p->lhs_n, p->rhs_n); n++) {
        for (int32_t h = 0; h < larger(p->lhs_h, p->rhs_h); h++) {
            const int64_t of_lhs =
                (int64_t)(p->lhs_n > 1 ? n : 0) * p->lhs_h + (p->lhs_h > 1 ? h : 0);
            const int64_t of_rhs =
                (int64_t)(p->rhs_n > 1 ? n : 0) * p->rhs_h + (p->rhs_h > 1 ? h : 0);
            multiply(p, lhs + of_lhs * left, rhs + of_rhs * right, out);
            out += (int64_t)p->rows * p->columns;
        }
    }
    return QN_OK;
}

int s_arg_f32_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_mean *p = params;
    const int32_t sides[] = {p->kept_0, p->reduced_0, p->kept_1};
    const s_range all[] = {
        {"kept_0", p->kept_0, 1, INT32_MAX}, {"reduced_0", p->reduced_0, 1, INT32_MAX},
        {"kept_1", p->kept_1, 1, INT32_MAX}, {"reduced_1", p->reduced_1, 1, 1},
        {"kept_2", p->kept_2, 1, 1},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    const int64_t elements = status == QN_OK ? s_elements(4, sides, 3) : 0;
    if (elements < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = elements * 4;
    sizes->out = status == QN_OK ? sizes->in[0] / p->reduced_0 : 0;
    return status;
}

static int arg(const qn_s_mean *p, const qn_buffers *b, float sign) {
    int32_t *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->kept_0 * p->kept_1; i++) {
        const int64_t outer = i / p->kept_1 * p->reduced_0 * p->kept_1 + i % p->kept_1;
        const float *in = (const float *)b->in[0] + outer;
        int32_t best = 0;
        for (int32_t r = 1; r < p->reduced_0; r++) {
            const float value = sign * in[(int64_t)r * p->kept_1];
            const float held = sign * in[(int64_t)best * p->kept_1];
            best = value > held || (held != held && value == value) ? r : best;
        }
        out[i] = best;
    }
    return QN_OK;
}

int s_arg_max_f32_ref(const void *params, const qn_buffers *b) { return arg(params, b, 1.0f); }

int s_arg_min_f32_ref(const void *params, const qn_buffers *b) { return arg(params, b, -1.0f); }

int s_l2_norm_f32_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_l2_norm *p = params;
    const int32_t sides[] = {p->num_rows, p->row_size};
    const s_range all[] = {
        {"num_rows", p->num_rows, 1, INT32_MAX},
        {"row_size", p->row_size, 1, INT32_MAX},
        {"input_zero_point", p->input_zero_point, 0, 0},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    const int64_t elements = status == QN_OK ? s_elements(4, sides, 2) : 0;
    sizes->in[0] = sizes->out = elements * 4;
    sizes->in_place = 1;
    return elements < 0 ? s_too_large("input", why) : status;
}

int s_l2_norm_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_l2_norm *p = params;
    const float *in = b->in[0];
    float *out = b->out;
    for (int32_t row = 0; row < p->num_rows; row++, in += p->row_size, out += p->row_size) {
        float sum = 0;
        for (int32_t i = 0; i < p->row_size; i++) {
            const float square = in[i] * in[i];
            sum += square;
        }
        const float root = qn_sqrt_f32(sum), norm = root < 1e-6f ? 1e-6f : root;
        for (int32_t i = 0; i < p->row_size; i++) {
            out[i] = in[i] / norm;
        }
    }
    return QN_OK;
}
