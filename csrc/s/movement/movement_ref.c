/* Reshaping, concatenation, joining, constants and padding, plain. */
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
    int status = s_image(names, in, why);
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

int s_join_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_join *p = params;
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"inner1", p->inner1, 1, INT32_MAX},
        {"inner2", p->inner2, 1, INT32_MAX},
    };
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    if (status != QN_OK) {
        return status;
    }
    if ((int64_t)p->inner1 + p->inner2 > INT32_MAX / p->element / p->outer) {
        return s_too_large("output", why);
    }
    sizes->in[0] = (int64_t)p->element * p->outer * p->inner1;
    sizes->in[1] = (int64_t)p->element * p->outer * p->inner2;
    sizes->out = sizes->in[0] + sizes->in[1];
    return QN_OK;
}

int s_join_ref(const void *params, const qn_buffers *b) {
    const qn_s_join *p = params;
    const size_t first = (size_t)p->element * (size_t)p->inner1;
    const size_t second = (size_t)p->element * (size_t)p->inner2;
    const int8_t *in1 = b->in[0], *in2 = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->outer; i++, out += first + second) {
        memcpy(out, in1 + first * (size_t)i, first);
        memcpy(out + first, in2 + second * (size_t)i, second);
    }
    return QN_OK;
}

int s_constant_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_elements *p = params;
    int status = s_element(p->width, why);
    if (status == QN_OK) {
        sizes->weights = sizes->out = (int64_t)p->length * p->width;
        status = qn_in_range("length", p->length, 1, INT32_MAX / p->width, why);
    }
    return status;
}

int s_constant_ref(const void *params, const qn_buffers *b) {
    const qn_s_elements *p = params;
    memcpy(b->out, b->weights, (size_t)p->length * (size_t)p->width);
    return QN_OK;
}

/* ---- padding ---- */

/* The sides of a padded image, and where the image begins. */
typedef struct s_padded {
    int32_t in[4], pre[4], out[4];
} s_padded;

static int paddings(const qn_s_pad *p, s_padded *s, char *why) {
    static const char *const inputs[] = {"input_n", "input_h", "input_w", "input_c"};
    static const char *const outputs[] = {"output_n", "output_h", "output_w", "output_c"};
    const int32_t in[] = {p->input_n, p->input_h, p->input_w, p->input_c};
    const s_range all[] = {
        {"pre_n", p->pre_n, 0, UINT16_MAX},   {"pre_h", p->pre_h, 0, UINT16_MAX},
        {"pre_w", p->pre_w, 0, UINT16_MAX},   {"pre_c", p->pre_c, 0, UINT16_MAX},
        {"post_n", p->post_n, 0, UINT16_MAX}, {"post_h", p->post_h, 0, UINT16_MAX},
        {"post_w", p->post_w, 0, UINT16_MAX}, {"post_c", p->post_c, 0, UINT16_MAX},
    };
    int status = s_image(inputs, in, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    for (int i = 0; i < 4 && status == QN_OK; i++) {
        s->in[i] = in[i];
        s->pre[i] = all[i].value;
        s->out[i] = in[i] + all[i].value + all[i + 4].value;
        status = qn_in_range(outputs[i], s->out[i], 1, UINT16_MAX, why);
    }
    return status;
}

int s_pad_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_pad *p = params;
    s_padded s;
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = paddings(p, &s, why);
    }
    if (status == QN_OK && p->element < 4) {
        status = qn_in_range("pad_value", p->pad_value, p->element == 1 ? INT8_MIN : INT16_MIN,
                             p->element == 1 ? INT8_MAX : INT16_MAX, why);
    }
    return status == QN_OK ? s_moved(p->element, s.in, 4, s.out, 4, sizes, why) : status;
}

/* Copies the image into the output, which is filled already, line by line. */
static void place(const s_padded *s, const qn_buffers *b, int64_t element) {
    const size_t line = (size_t)(s->in[3] * element);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < s->in[0]; n++) {
        for (int32_t h = 0; h < s->in[1]; h++) {
            for (int32_t w = 0; w < s->in[2]; w++, in += line) {
                int64_t row = (int64_t)(n + s->pre[0]) * s->out[1] + h + s->pre[1];
                int64_t pixel = row * s->out[2] + w + s->pre[2];
                memcpy(out + (pixel * s->out[3] + s->pre[3]) * element, in, line);
            }
        }
    }
}

int s_pad_ref(const void *params, const qn_buffers *b) {
    const qn_s_pad *p = params;
    s_padded s;
    char why[QN_WHY];
    paddings(p, &s, why);
    s_fill(b->out, s_elements(p->element, s.out, 4), p->element, p->pad_value);
    place(&s, b, p->element);
    return QN_OK;
}
