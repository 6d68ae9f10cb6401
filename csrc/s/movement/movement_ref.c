/* Reshaping, concatenation and joining, plain. */
#include "movement.h"

int s_copy_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_copy *p = params;
    sizes->in[0] = sizes->out = p->total_size;
    sizes->in_place = 1;
    return qn_in_range("total_size", p->total_size, 0, INT32_MAX, why);
}

int s_copy_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_copy *p = params;
    if (p->total_size > 0) {
        memmove(b->out, b->in[0], (size_t)p->total_size);
    }
    return QN_OK;
}

/* The sides of in[0], innermost first; the axis counts from there, too. */
static void concatenated(const qn_s_concatenation *p, int32_t *in, int32_t *out) {
    const int32_t sides[] = {p->input_x, p->input_y, p->input_z, p->input_w};
    memcpy(in, sides, sizeof sides);
    memcpy(out, sides, sizeof sides);
    out[p->axis] = p->output_side;
}

int s_concatenation_s8_check(const void *params, qn_sizes *sizes, char *why) {
    static const char *const names[] = {"input_x", "input_y", "input_z", "input_w"};
    static const char *const outputs[] = {"output_x", "output_y", "output_z", "output_w"};
    const qn_s_concatenation *p = params;
    int32_t in[4], out[4];
    concatenated(p, in, out);
    int status = s_sides(names, in, 4, why);
    if (status == QN_OK) {
        status = qn_in_range(outputs[p->axis], p->output_side, in[p->axis], UINT16_MAX, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("offset", p->offset, 0, p->output_side - in[p->axis], why);
    }
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = s_moved_bytes(1, in, 4, "input", why);
    sizes->in[1] = sizes->out = s_moved_bytes(1, out, 4, "output", why);
    sizes->in_place = 1;
    return sizes->in[0] < 0 || sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_concatenation_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_concatenation *p = params;
    int32_t in[4], out[4];
    concatenated(p, in, out);
    int64_t inner = 1, outer = 1;
    for (int i = 0; i < 4; i++) {
        inner *= i < p->axis ? in[i] : 1;
        outer *= i > p->axis ? in[i] : 1;
    }
    const size_t own = (size_t)(inner * in[p->axis]), all = (size_t)(inner * p->output_side);
    const int8_t *part = b->in[0], *old = b->in[1];
    int8_t *target = b->out;
    if (own < all && old != target) {
        memcpy(target, old, all * (size_t)outer);
    }
    for (int64_t i = 0; i < outer; i++) {
        memmove(target + i * (int64_t)all + p->offset * inner, part + i * (int64_t)own, own);
    }
    return QN_OK;
}

static int join_check(const qn_s_join *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"inner1", p->inner1, 1, INT32_MAX},
        {"inner2", p->inner2, 1, INT32_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    if ((int64_t)p->inner1 + p->inner2 > INT32_MAX / element / p->outer) {
        return s_too_large("output", why);
    }
    sizes->in[0] = element * p->outer * p->inner1;
    sizes->in[1] = element * p->outer * p->inner2;
    sizes->out = sizes->in[0] + sizes->in[1];
    return QN_OK;
}

int s_join_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return join_check(params, 1, sizes, why);
}

int s_join_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return join_check(params, 2, sizes, why);
}

static int join(const qn_s_join *p, const qn_buffers *b, size_t element) {
    const size_t first = element * (size_t)p->inner1, second = element * (size_t)p->inner2;
    const int8_t *in1 = b->in[0], *in2 = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->outer; i++, out += first + second) {
        memcpy(out, in1 + first * (size_t)i, first);
        memcpy(out + first, in2 + second * (size_t)i, second);
    }
    return QN_OK;
}

int s_join_s8_ref(const void *params, const qn_buffers *b) { return join(params, b, 1); }

int s_join_s16_ref(const void *params, const qn_buffers *b) { return join(params, b, 2); }
