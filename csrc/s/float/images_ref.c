/* Pooling and resizing of images of float32, plain. */
#include "images.h"

#include "../movement/resize.h"

/* Bytes of an image of float32. */
static int64_t bytes_of(int32_t n, int32_t h, int32_t w, int32_t c) {
    const int32_t sides[] = {n, h, w, c};
    return s_elements(4, sides, 4) * 4;
}

/* Is there a cell in the first and in the last window of an axis? They are the outermost. */
static int reaches(int32_t out, int32_t stride, int32_t pad, int32_t filter, int32_t in) {
    return filter > pad && (int64_t)(out - 1) * stride - pad < in;
}

int s_float_pool_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_pool *p = params;
    const s_range all[] = {
        {"what", p->what, QN_F_AVERAGE_POOL, QN_F_L2_POOL},
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},
        {"filter_w", p->filter_w, 1, UINT16_MAX / (p->filter_h > 0 ? p->filter_h : 1)},
        {"stride_h", p->stride_h, 1, UINT16_MAX},
        {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, UINT16_MAX},
        {"pad_w", p->pad_w, 0, UINT16_MAX},
        {"activation", p->activation, QN_F_KEEP_ALL, QN_F_KEEP_RELU6},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = bytes_of(p->batches, p->input_h, p->input_w, p->channels);
    sizes->out = bytes_of(p->batches, p->output_h, p->output_w, p->channels);
    if (sizes->in[0] < 0 || sizes->out < 0) {
        return s_too_large(sizes->out < 0 ? "output" : "input", why);
    }
    if (!reaches(p->output_h, p->stride_h, p->pad_h, p->filter_h, p->input_h) ||
        !reaches(p->output_w, p->stride_w, p->pad_w, p->filter_w, p->input_w)) {
        return qn_deny(why, QN_REFUSED, "a window lies outside of the image");
    }
    return QN_OK;
}

/* One output: of a window whose first cell is at `in`. */
static float pooled(const qn_s_float_pool *p, const float *in, int32_t rows, int32_t columns) {
    float sum = 0, largest = -FLT_MAX;
    for (int32_t y = 0; y < rows; y++) {
        const float *cell = in + (int64_t)y * p->input_w * p->channels;
        for (int32_t x = 0; x < columns; x++, cell += p->channels) {
            const float square = *cell * *cell;
            sum += p->what == QN_F_L2_POOL ? square : *cell;
            largest = largest < *cell ? *cell : largest;
        }
    }
    const float mean = sum / (float)(rows * columns);
    return p->what == QN_F_AVERAGE_POOL ? mean
           : p->what == QN_F_L2_POOL    ? qn_sqrt_f32(mean)
                                        : largest;
}

int s_float_pool_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_pool *p = params;
    float *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        const float *image =
            (const float *)b->in[0] + (int64_t)n * p->input_h * p->input_w * p->channels;
        for (int32_t y = 0; y < p->output_h; y++) {
            const s_span h = s_pool_window(y, p->stride_h, p->pad_h, p->filter_h, p->input_h);
            for (int32_t x = 0; x < p->output_w; x++) {
                const s_span w = s_pool_window(x, p->stride_w, p->pad_w, p->filter_w, p->input_w);
                const float *in = image + ((int64_t)h.start * p->input_w + w.start) * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    const float value = pooled(p, in + c, h.stop - h.start, w.stop - w.start);
                    *out++ = s_keep(value, p->activation);
                }
            }
        }
    }
    return QN_OK;
}

int s_resize_bilinear_f32_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_resize *p = params;
    return s_resize_check(p, p->align_corners ? 0 : 1, sizes, why);
}

/* Between which two inputs an output lies on one axis, and the parts that they have in it. */
typedef struct between {
    int32_t at[2];
    float part[2];
} between;

static between between_of(const qn_s_resize *p, int32_t in, int32_t out, int32_t o) {
    const int32_t inner = p->align_corners && out > 1;
    const float scale = (float)(in - inner) / (float)(out - inner);
    const float moved = (float)o + 0.5f, centered = moved * scale, plain = (float)o * scale;
    const float position = p->half_pixel_centers ? centered - 0.5f : plain;
    const int32_t below = (int32_t)qn_floor_f32(position);
    const int32_t above = (int32_t)-qn_floor_f32(-position);
    const int32_t first = qn_clamp(below, 0, in - 1);
    const float part = position - (float)first;
    return (between){{first, above < in - 1 ? above : in - 1}, {1.0f - part, part}};
}

static float product(float value, float y, float x) {
    const float row = value * y;
    return row * x;
}

int s_resize_bilinear_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_resize *p = params;
    const int64_t row = (int64_t)p->input_w * p->channels;
    float *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        const float *image = (const float *)b->in[0] + n * p->input_h * row;
        for (int32_t y = 0; y < p->output_h; y++) {
            const between h = between_of(p, p->input_h, p->output_h, y);
            const float *upper = image + h.at[0] * row, *lower = image + h.at[1] * row;
            for (int32_t x = 0; x < p->output_w; x++) {
                const between w = between_of(p, p->input_w, p->output_w, x);
                const int64_t left = (int64_t)w.at[0] * p->channels;
                const int64_t right = (int64_t)w.at[1] * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    float sum = product(upper[left + c], h.part[0], w.part[0]);
                    sum += product(lower[left + c], h.part[1], w.part[0]);
                    sum += product(upper[right + c], h.part[0], w.part[1]);
                    sum += product(lower[right + c], h.part[1], w.part[1]);
                    *out++ = sum + 0.0f;
                }
            }
        }
    }
    return QN_OK;
}
