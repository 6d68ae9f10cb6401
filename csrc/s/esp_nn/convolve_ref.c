/* Convolution of ESP-NN on an ESP32-S3 whose windows leave the padded image, plain. */
#include "windows.h"

int s_esp_convolve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_conv *p = params;
    const s_range range[] = {
        {"dilation_h", p->dilation_h, 1, 1},
        {"dilation_w", p->dilation_w, 1, 1},
        {"filter_c", p->filter_c, p->input_c, p->input_c},
    };
    int status = s_in_ranges(range, sizeof range / sizeof range[0], why);
    return status == QN_OK ? s_convolve_s8_check(params, sizes, why) : status;
}

int64_t s_esp_convolve_s8_scratch(const void *params) { return s_esp_memory(params); }

/* The products of a channel's filter and the window from `start` on. */
static uint32_t products(const qn_s_conv *p, const int8_t *start, const int8_t *filter) {
    const int64_t width = (int64_t)p->filter_w * p->input_c;
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++, start += s_esp_pitch(p), filter += width) {
        for (int64_t k = 0; k < width; k++) {
            acc += (uint32_t)(start[k] * filter[k]);
        }
    }
    return acc;
}

static void convolve(const qn_s_conv *p, const int8_t *memory, const qn_buffers *b, int8_t *out) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    for (int32_t o = 0; o < p->output_c; o++) {
        const int8_t *filter = (const int8_t *)b->weights + o * taps;
        const int32_t constant = s_esp_constant(p, filter, q.bias[o]);
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                uint32_t acc = products(p, s_esp_window(p, memory, y, x), filter);
                int64_t at = ((int64_t)y * p->output_w + x) * p->output_c + o;
                out[at] = (int8_t)s_output(&epilogue, qn_wrap32(acc + (uint32_t)constant),
                                           q.multiplier[o], q.shift[o]);
            }
        }
    }
}

int s_esp_convolve_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const int64_t outputs = (int64_t)p->output_h * p->output_w * p->output_c;
    for (int32_t n = 0; n < p->batches; n++) {
        s_esp_fill(p, b, n, b->scratch);
        convolve(p, b->scratch, b, (int8_t *)b->out + n * outputs);
    }
    return QN_OK;
}
