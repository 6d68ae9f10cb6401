/* Convolution of the s8 API, plain. */
#include "convolve.h"

static int ranges(const qn_s_conv *p, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},       {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},       {"input_c", p->input_c, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},     {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"filter_c", p->filter_c, 1, UINT16_MAX},     {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},     {"output_c", p->output_c, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX},     {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"dilation_h", p->dilation_h, 1, UINT16_MAX}, {"dilation_w", p->dilation_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, UINT16_MAX},           {"pad_w", p->pad_w, 0, UINT16_MAX},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int groups_fit(const qn_s_conv *p, char *why) {
    if (p->input_c % p->filter_c != 0 || p->output_c % s_groups(p) != 0) {
        return qn_deny(
            why, QN_REFUSED,
            "input_c must be a multiple of filter_c, and output_c of their quotient, are "
            "%ld, %ld, %ld",
            (long)p->input_c, (long)p->filter_c, (long)p->output_c);
    }
    return QN_OK;
}

static int quantization(const qn_s_conv *p, char *why) {
    const s_range all[] = {
        {"input_offset", p->input_offset, -127, 128},
        {"output_offset", p->output_offset, INT8_MIN, INT8_MAX},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_convolve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_conv *p = params;
    int status = ranges(p, why);
    if (status == QN_OK) {
        status = groups_fit(p, why);
    }
    if (status == QN_OK) {
        status = quantization(p, why);
    }
    if (status != QN_OK) {
        return status;
    }
    int64_t in = s_elements(1, (int32_t[]){p->batches, p->input_h, p->input_w, p->input_c}, 4);
    int64_t weights =
        s_elements(1, (int32_t[]){p->output_c, p->filter_h, p->filter_w, p->filter_c}, 4);
    int64_t out = s_elements(1, (int32_t[]){p->batches, p->output_h, p->output_w, p->output_c}, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in;
    sizes->weights = weights;
    sizes->bias = (int64_t)p->output_c * 3 * 4;
    sizes->out = out;
    return QN_OK;
}

/* The products of one output. filter: of its channel; in: of its sample, from its group on. */
static uint32_t products(const qn_s_conv *p, const int8_t *in, const int8_t *filter, int32_t y,
                         int32_t x) {
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += p->filter_c) {
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            if (in_y < 0 || in_y >= p->input_h || in_x < 0 || in_x >= p->input_w) {
                continue;
            }
            const int8_t *pixel = in + (in_y * p->input_w + in_x) * p->input_c;
            for (int32_t c = 0; c < p->filter_c; c++) {
                acc += (uint32_t)((pixel[c] + p->input_offset) * filter[c]);
            }
        }
    }
    return acc;
}

int s_convolve_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_stage stage = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->filter_c;
    const int32_t group = p->output_c / s_groups(p);
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < p->output_c; o++) {
                    uint32_t acc =
                        (uint32_t)q.bias[o] + products(p, in + (int64_t)(o / group) * p->filter_c,
                                                       filter + o * taps, y, x);
                    *out++ = (int8_t)s_output(&stage, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
                }
            }
        }
    }
    return QN_OK;
}
