/* Convolutions of ExecuTorch on float32, plain. */
#include "portable.h"

static int groups_fit(const qn_s_float_convolve *p, char *why) {
    const int32_t whole = p->transposed ? p->output_c : p->input_c;
    const int32_t other = p->transposed ? p->input_c : p->output_c;
    if (whole % p->filter_c || other % (whole / p->filter_c)) {
        return qn_deny(
            why, QN_REFUSED,
            "input_c %ld and output_c %ld must be multiples of the groups of %ld channels",
            (long)p->input_c, (long)p->output_c, (long)p->filter_c);
    }
    return QN_OK;
}

int s_float_convolve_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_convolve *p = params;
    const s_range all[] = {
        {"transposed", p->transposed, 0, 1},          {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},       {"input_w", p->input_w, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},       {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},     {"output_c", p->output_c, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},     {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"filter_c", p->filter_c, 1, UINT16_MAX},     {"stride_h", p->stride_h, 1, UINT16_MAX},
        {"stride_w", p->stride_w, 1, UINT16_MAX},     {"pad_h", p->pad_h, 0, UINT16_MAX},
        {"pad_w", p->pad_w, 0, UINT16_MAX},           {"dilation_h", p->dilation_h, 1, UINT16_MAX},
        {"dilation_w", p->dilation_w, 1, UINT16_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    status = status == QN_OK ? groups_fit(p, why) : status;
    if (status != QN_OK) {
        return status;
    }
    const int32_t outer = p->transposed ? p->input_c : p->output_c;
    const int64_t in =
        s_elements(4, (int32_t[]){p->batches, p->input_c, p->input_h, p->input_w}, 4);
    const int64_t weights =
        s_elements(4, (int32_t[]){outer, p->filter_c, p->filter_h, p->filter_w}, 4);
    const int64_t out =
        s_elements(4, (int32_t[]){p->batches, p->output_c, p->output_h, p->output_w}, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "weights" : "output", why);
    }
    sizes->in[0] = in * 4;
    sizes->weights = weights * 4;
    sizes->bias = (int64_t)p->output_c * 4;
    sizes->out = out * 4;
    return QN_OK;
}

/* An output of a convolution. in: its group's first channel; weight: of its output channel. */
static float forwards(const qn_s_float_convolve *p, const float *in, const float *weight, int32_t y,
                      int32_t x) {
    const int64_t top = (int64_t)y * p->stride_h - p->pad_h;
    const int64_t left = (int64_t)x * p->stride_w - p->pad_w;
    float sum = 0;
    for (int32_t c = 0; c < p->filter_c; c++, in += (int64_t)p->input_h * p->input_w) {
        for (int32_t ky = 0; ky < p->filter_h; ky++) {
            const int64_t row = top + (int64_t)ky * p->dilation_h;
            for (int32_t kx = 0; kx < p->filter_w; kx++, weight++) {
                const int64_t column = left + (int64_t)kx * p->dilation_w;
                if (row >= 0 && row < p->input_h && column >= 0 && column < p->input_w) {
                    const float product = in[row * p->input_w + column] * *weight;
                    sum += product;
                }
            }
        }
    }
    return sum;
}

/* Contribution of one input to an output channel. */
static void scatter(const qn_s_float_convolve *p, float value, const float *weight, int32_t y,
                    int32_t x, float *out) {
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        const int64_t row = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
        for (int32_t kx = 0; kx < p->filter_w; kx++, weight++) {
            const int64_t column =
                (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            if (row >= 0 && row < p->output_h && column >= 0 && column < p->output_w) {
                const float product = value * *weight;
                out[row * p->output_w + column] += product;
            }
        }
    }
}

/* The inputs of a group, spread over one output channel. weight: of the group's first input channel
 * and this output channel. */
static void transposed(const qn_s_float_convolve *p, const float *in, const float *weight,
                       int32_t channels, float *out) {
    const int64_t plane = (int64_t)p->input_h * p->input_w;
    const int64_t step = (int64_t)p->filter_c * p->filter_h * p->filter_w;
    for (int32_t y = 0; y < p->input_h; y++) {
        for (int32_t x = 0; x < p->input_w; x++) {
            for (int32_t c = 0; c < channels; c++) {
                const float value = in[c * plane + (int64_t)y * p->input_w + x];
                scatter(p, value, weight + c * step, y, x, out);
            }
        }
    }
}

int s_float_convolve_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_convolve *p = params;
    const float *in = b->in[0], *weights = b->weights, *bias = b->bias;
    float *out = b->out;
    const int64_t image = (int64_t)p->input_h * p->input_w,
                  area = (int64_t)p->filter_h * p->filter_w;
    const int32_t groups = (p->transposed ? p->output_c : p->input_c) / p->filter_c;
    const int32_t taken = p->input_c / groups, made = p->output_c / groups;
    for (int32_t n = 0; n < p->batches; n++, in += image * p->input_c) {
        for (int32_t o = 0; o < p->output_c; o++) {
            const float *own = in + image * taken * (o / made);
            if (p->transposed) {
                for (int64_t i = 0; i < (int64_t)p->output_h * p->output_w; i++) {
                    out[i] = bias[o];
                }
                const int64_t first = (int64_t)taken * (o / made) * p->filter_c + o % made;
                transposed(p, own, weights + first * area, taken, out);
                out += (int64_t)p->output_h * p->output_w;
                continue;
            }
            for (int32_t y = 0; y < p->output_h; y++) {
                for (int32_t x = 0; x < p->output_w; x++) {
                    *out++ = forwards(p, own, weights + o * area * p->filter_c, y, x) + bias[o];
                }
            }
        }
    }
    return QN_OK;
}
