/* Bilinear upsampling, layer norms and adaptive averages of ExecuTorch, plain. */
#include "portable.h"

/* ---- upsampling ---- */

static int is_ratio(int32_t bits) {
    const float ratio = qn_float_of_bits((uint32_t)bits);
    return ratio >= 0 && ratio <= UINT16_MAX;
}

int s_float_upsample_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_upsample *p = params;
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},    {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},    {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},  {"output_w", p->output_w, 1, UINT16_MAX},
        {"align_corners", p->align_corners, 0, 1},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    if (!is_ratio(p->scale_h_bits) || !is_ratio(p->scale_w_bits)) {
        return qn_deny(why, QN_REFUSED,
                       "scale_h_bits and scale_w_bits must be those of a float32 from 0 to 65535");
    }
    const int64_t in =
        s_elements(4, (int32_t[]){p->batches, p->input_h, p->input_w, p->channels}, 4);
    const int64_t out =
        s_elements(4, (int32_t[]){p->batches, p->output_h, p->output_w, p->channels}, 4);
    if (in < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : "output", why);
    }
    sizes->in[0] = in * 4;
    sizes->out = out * 4;
    return QN_OK;
}

/* Between which two inputs an output lies on one axis, and the parts that they have in it. */
typedef struct place {
    int32_t at[2];
    float part[2];
} place;

static place place_of(int32_t align, int32_t in, int32_t out, int32_t bits, int32_t o) {
    const float scale = qn_float_of_bits((uint32_t)bits);
    const float centered = ((float)o + 0.5f) * scale, moved = centered - 0.5f;
    const float position = align ? scale * (float)o : moved < 0 ? 0.0f : moved;
    if (in == out) {
        return (place){{o, o}, {1, 0}};
    }
    const float below = qn_floor_f32(position);
    const int32_t first = below < (float)(in - 1) ? (int32_t)below : in - 1;
    const float rest = position - (float)first, part = rest < 0 ? 0.0f : rest > 1 ? 1.0f : rest;
    return (place){{first, first < in - 1 ? first + 1 : first}, {1.0f - part, part}};
}

static float mixed(float a, float part_a, float b, float part_b) {
    const float first = a * part_a, second = b * part_b;
    return first + second;
}

int s_float_upsample_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_upsample *p = params;
    const int64_t row = (int64_t)p->input_w * p->channels;
    float *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        const float *image = (const float *)b->in[0] + n * p->input_h * row;
        for (int32_t y = 0; y < p->output_h; y++) {
            const place h = place_of(p->align_corners, p->input_h, p->output_h, p->scale_h_bits, y);
            const float *upper = image + h.at[0] * row, *lower = image + h.at[1] * row;
            for (int32_t x = 0; x < p->output_w; x++) {
                const place w =
                    place_of(p->align_corners, p->input_w, p->output_w, p->scale_w_bits, x);
                const int64_t left = (int64_t)w.at[0] * p->channels;
                const int64_t right = (int64_t)w.at[1] * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    const float top =
                        mixed(upper[left + c], w.part[0], upper[right + c], w.part[1]);
                    const float bottom =
                        mixed(lower[left + c], w.part[0], lower[right + c], w.part[1]);
                    *out++ = mixed(top, h.part[0], bottom, h.part[1]);
                }
            }
        }
    }
    return QN_OK;
}

/* ---- norms and averages ---- */

int s_float_layer_norm_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_layer_norm *p = params;
    const s_range all[] = {{"num_rows", p->num_rows, 1, INT32_MAX},
                           {"row_size", p->row_size, 1, INT32_MAX}};
    int status = s_in_ranges(all, 2, why);
    if (status != QN_OK) {
        return status;
    }
    const int64_t elements = s_elements(4, (int32_t[]){p->num_rows, p->row_size}, 2);
    if (elements < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = sizes->out = elements * 4;
    sizes->weights = sizes->bias = (int64_t)p->row_size * 4;
    return QN_OK;
}

int s_float_layer_norm_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_layer_norm *p = params;
    const float *in = b->in[0], *weights = b->weights, *bias = b->bias;
    const float eps = qn_float_of_bits((uint32_t)p->eps_bits), count = (float)p->row_size;
    float *out = b->out;
    for (int32_t row = 0; row < p->num_rows; row++, in += p->row_size) {
        float sum = 0, squares = 0;
        for (int32_t i = 0; i < p->row_size; i++) {
            const float square = in[i] * in[i];
            sum += in[i];
            squares += square;
        }
        const float mean = sum / count, average = squares / count, squared = mean * mean;
        const float variance = average - squared, deviation = qn_sqrt_f32(variance + eps);
        for (int32_t i = 0; i < p->row_size; i++) {
            const float normal = (in[i] - mean) / deviation, scaled = normal * weights[i];
            *out++ = scaled + bias[i];
        }
    }
    return QN_OK;
}

int s_float_adaptive_pool_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_adaptive_pool *p = params;
    const s_range all[] = {
        {"planes", p->planes, 1, INT32_MAX},      {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},   {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int64_t in = s_elements(4, (int32_t[]){p->planes, p->input_h, p->input_w}, 3);
    const int64_t out = s_elements(4, (int32_t[]){p->planes, p->output_h, p->output_w}, 3);
    if (in < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : "output", why);
    }
    sizes->in[0] = in * 4;
    sizes->out = out * 4;
    return QN_OK;
}

/* The inputs of an output on one axis: from the first to the second, without it. */
static void window(int32_t o, int32_t in, int32_t out, int32_t *ends) {
    const float first = (float)((int64_t)o * in) / (float)out;
    const float last = (float)(((int64_t)o + 1) * in) / (float)out;
    ends[0] = (int32_t)qn_floor_f32(first);
    ends[1] = qn_clamp((int32_t)-qn_floor_f32(-last), ends[0] + 1, in);
}

int s_float_adaptive_pool_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_adaptive_pool *p = params;
    const float *in = b->in[0];
    float *out = b->out;
    for (int32_t n = 0; n < p->planes; n++, in += (int64_t)p->input_h * p->input_w) {
        for (int32_t oy = 0; oy < p->output_h; oy++) {
            int32_t h[2], w[2];
            window(oy, p->input_h, p->output_h, h);
            for (int32_t ox = 0; ox < p->output_w; ox++) {
                window(ox, p->input_w, p->output_w, w);
                float sum = 0;
                for (int32_t y = h[0]; y < h[1]; y++) {
                    for (int32_t x = w[0]; x < w[1]; x++) {
                        sum += in[(int64_t)y * p->input_w + x];
                    }
                }
                *out++ = sum / (float)((int64_t)(h[1] - h[0]) * (w[1] - w[0]));
            }
        }
    }
    return QN_OK;
}
