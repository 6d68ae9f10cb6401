/* What picks elements, plain. */
#include "slicing.h"

/* The axes of a slice, outermost first. */
typedef struct s_axes {
    int32_t input[5], begin[5], stride[5], output[5];
} s_axes;

static s_axes axes_of(const qn_s_slice *p) {
    return (s_axes){{p->input_0, p->input_1, p->input_2, p->input_3, p->input_4},
                    {p->begin_0, p->begin_1, p->begin_2, p->begin_3, p->begin_4},
                    {p->stride_0, p->stride_1, p->stride_2, p->stride_3, p->stride_4},
                    {p->output_0, p->output_1, p->output_2, p->output_3, p->output_4}};
}

static int stays_inside(const s_axes *a, int i, char *why) {
    static const char *const begins[] = {"begin_0", "begin_1", "begin_2", "begin_3", "begin_4"};
    static const char *const strides[] = {"stride_0", "stride_1", "stride_2", "stride_3",
                                          "stride_4"};
    int status = qn_in_range(begins[i], a->begin[i], 0, a->input[i] - 1, why);
    if (status == QN_OK) {
        status = qn_in_range(strides[i], a->stride[i], -UINT16_MAX, UINT16_MAX, why);
    }
    int64_t last = a->begin[i] + (int64_t)(a->output[i] - 1) * a->stride[i];
    if (status == QN_OK && (last < 0 || last >= a->input[i])) {
        return qn_deny(why, QN_REFUSED,
                       "axis %d of the slice ends at element %ld, but the input has %ld", i,
                       (long)last, (long)a->input[i]);
    }
    return status;
}

static int slice_check(const qn_s_slice *p, int64_t element, qn_sizes *sizes, char *why) {
    static const char *const inputs[] = {"input_0", "input_1", "input_2", "input_3", "input_4"};
    static const char *const outputs[] = {"output_0", "output_1", "output_2", "output_3",
                                          "output_4"};
    const s_axes a = axes_of(p);
    int status = s_sides(inputs, a.input, 5, why);
    if (status == QN_OK) {
        status = s_sides(outputs, a.output, 5, why);
    }
    for (int i = 0; i < 5 && status == QN_OK; i++) {
        status = stays_inside(&a, i, why);
    }
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = s_moved_bytes(element, a.input, 5, "input", why);
    sizes->out = s_moved_bytes(element, a.output, 5, "output", why);
    return sizes->in[0] < 0 || sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_slice_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return slice_check(params, 1, sizes, why);
}

int s_slice_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return slice_check(params, 2, sizes, why);
}

static int slice(const qn_s_slice *p, const qn_buffers *b, size_t element) {
    const s_axes a = axes_of(p);
    const int64_t count = s_elements(1, a.output, 5);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int64_t i = 0; i < count; i++, out += element) {
        int64_t rest = i, index = 0, step = 1;
        for (int axis = 4; axis >= 0; axis--) {
            index += step * (a.begin[axis] + rest % a.output[axis] * a.stride[axis]);
            rest /= a.output[axis];
            step *= a.input[axis];
        }
        memcpy(out, in + index * (int64_t)element, element);
    }
    return QN_OK;
}

int s_slice_s8_ref(const void *params, const qn_buffers *b) { return slice(params, b, 1); }

int s_slice_s16_ref(const void *params, const qn_buffers *b) { return slice(params, b, 2); }

static int resize_check(const qn_s_resize *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"align_corners", p->align_corners, 0, 1},
        {"half_pixel_centers", p->half_pixel_centers, 0, 1},
    };
    const int32_t in[] = {p->batches, p->input_h, p->input_w, p->channels};
    const int32_t out[] = {p->batches, p->output_h, p->output_w, p->channels};
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = s_moved_bytes(element, in, 4, "input", why);
    sizes->out = s_moved_bytes(element, out, 4, "output", why);
    return sizes->in[0] < 0 || sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_resize_nearest_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return resize_check(params, 1, sizes, why);
}

int s_resize_nearest_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return resize_check(params, 2, sizes, why);
}

static int resize(const qn_s_resize *p, const qn_buffers *b, int64_t element) {
    const size_t pixel = (size_t)(p->channels * element);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            int32_t in_y = qn_nearest_neighbor(y, p->input_h, p->output_h, p->align_corners,
                                               p->half_pixel_centers);
            for (int32_t x = 0; x < p->output_w; x++, out += pixel) {
                int32_t in_x = qn_nearest_neighbor(x, p->input_w, p->output_w, p->align_corners,
                                                   p->half_pixel_centers);
                int64_t position = ((int64_t)n * p->input_h + in_y) * p->input_w + in_x;
                memcpy(out, in + position * (int64_t)pixel, pixel);
            }
        }
    }
    return QN_OK;
}

int s_resize_nearest_s8_ref(const void *params, const qn_buffers *b) {
    return resize(params, b, 1);
}

int s_resize_nearest_s16_ref(const void *params, const qn_buffers *b) {
    return resize(params, b, 2);
}
