/* Reductions without arithmetic of TensorFlow Lite Micro, plain. */
#include "reduce.h"

static int check(const qn_s_mean *p, int32_t most, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t sides[] = {p->kept_0, p->reduced_0, p->kept_1, p->reduced_1, p->kept_2};
    const s_range all[] = {
        {"kept_0", p->kept_0, 1, INT32_MAX}, {"reduced_0", p->reduced_0, 1, INT32_MAX},
        {"kept_1", p->kept_1, 1, INT32_MAX}, {"reduced_1", p->reduced_1, 1, most},
        {"kept_2", p->kept_2, 1, most},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t count = s_elements(1, sides, 5);
    if (count < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = count;
    sizes->out = count / p->reduced_0 / p->reduced_1 * element;
    return sizes->out > INT32_MAX ? s_too_large("output", why) : QN_OK;
}

int s_reduce_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, INT32_MAX, 1, sizes, why);
}

int s_reduce_arg_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizeof(int32_t), sizes, why);
}

/* The elements of the group of an output: `rows` of `columns` each. */
typedef struct group {
    int64_t first, row_step, column_step;
    int32_t rows, columns;
} group;

/* That of output i, in their order. */
static group group_of(const qn_s_mean *p, int64_t i) {
    const int64_t row = i / p->kept_2, block = (int64_t)p->reduced_1 * p->kept_2;
    const int64_t outer = row / p->kept_1 * p->reduced_0 * p->kept_1 + row % p->kept_1;
    return (group){outer * block + i % p->kept_2, p->kept_1 * block, p->kept_2, p->reduced_0,
                   p->reduced_1};
}

static int64_t outputs(const qn_s_mean *p) { return (int64_t)p->kept_0 * p->kept_1 * p->kept_2; }

/* The largest of a group times sign, which is 1 or -1. */
static int32_t largest(const int8_t *in, const group *g, int32_t sign) {
    int32_t found = sign * in[g->first];
    for (int32_t y = 0; y < g->rows; y++) {
        for (int32_t x = 0; x < g->columns; x++) {
            int32_t value = sign * in[g->first + y * g->row_step + x * g->column_step];
            found = value > found ? value : found;
        }
    }
    return found;
}

static int reduce(const qn_s_mean *p, const qn_buffers *b, int32_t sign) {
    int8_t *out = b->out;
    for (int64_t i = 0; i < outputs(p); i++) {
        const group g = group_of(p, i);
        out[i] = (int8_t)(sign * largest(b->in[0], &g, sign));
    }
    return QN_OK;
}

int s_reduce_max_s8_ref(const void *params, const qn_buffers *b) { return reduce(params, b, 1); }

int s_reduce_min_s8_ref(const void *params, const qn_buffers *b) { return reduce(params, b, -1); }

int s_reduce_all_b8_ref(const void *params, const qn_buffers *b) {
    const qn_s_mean *p = params;
    const uint8_t *in = b->in[0];
    uint8_t *out = b->out;
    for (int64_t i = 0; i < outputs(p); i++) {
        const group g = group_of(p, i);
        out[i] = 1;
        for (int32_t y = 0; y < g.rows; y++) {
            for (int32_t x = 0; x < g.columns; x++) {
                out[i] &= in[g.first + y * g.row_step + x * g.column_step] != 0;
            }
        }
    }
    return QN_OK;
}

static int arg(const qn_s_mean *p, const qn_buffers *b, int32_t sign) {
    const int8_t *in = b->in[0];
    int32_t *out = b->out;
    for (int64_t i = 0; i < outputs(p); i++) {
        const group g = group_of(p, i);
        int32_t best = 0;
        for (int32_t y = 1; y < g.rows; y++) {
            int32_t value = in[g.first + y * g.row_step], held = in[g.first + best * g.row_step];
            best = sign * value > sign * held ? y : best;
        }
        out[i] = best;
    }
    return QN_OK;
}

int s_arg_max_s8_ref(const void *params, const qn_buffers *b) { return arg(params, b, 1); }

int s_arg_min_s8_ref(const void *params, const qn_buffers *b) { return arg(params, b, -1); }
