/* Convolution of ESP-NN on an ESP32-S3 whose windows leave the padded image, plain. */
#include "convolve.h"

#include <string.h>

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

static int is_padded(const qn_s_conv *p) { return p->pad_h > 0 || p->pad_w > 0; }

/* Bytes of a row of the memory that windows read. */
static int64_t pitch(const qn_s_conv *p) {
    return (p->input_w + 2 * (int64_t)p->pad_w) * p->input_c;
}

/* Bytes of the padded copy of an image. */
static int64_t copied(const qn_s_conv *p) {
    return (p->input_h + 2 * (int64_t)p->pad_h) * pitch(p);
}

/* Bytes up to the end of the last window. */
static int64_t reach(const qn_s_conv *p) {
    int64_t row = (p->output_h - 1) * (int64_t)p->stride_h + p->filter_h - 1;
    int64_t column = (p->output_w - 1) * (int64_t)p->stride_w + p->filter_w;
    return row * pitch(p) + column * p->input_c;
}

int64_t s_esp_convolve_s8_scratch(const void *params) {
    const qn_s_conv *p = params;
    int64_t written = copied(p) + (int64_t)sizeof(int32_t) * p->output_c, read = reach(p);
    return written > read ? written : read;
}

static int32_t constant_part(const qn_s_conv *p, const int8_t *filter, int32_t bias) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    int32_t sum = 0; /* at most 65535 taps of 8 bits */
    for (int64_t i = 0; i < taps; i++) {
        sum += filter[i];
    }
    return qn_wrap32((uint32_t)(sum * p->input_offset) + (uint32_t)bias);
}

/* The padded image, and the words after it. */
static void fill_padded(const qn_s_conv *p, const int8_t *in, const qn_buffers *b, int8_t *memory) {
    const int64_t row = (int64_t)p->input_w * p->input_c;
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const int8_t *filter = b->weights;
    memset(memory, -p->input_offset, (size_t)copied(p));
    for (int32_t y = 0; y < p->input_h; y++) {
        int8_t *to = memory + (y + p->pad_h) * pitch(p) + (int64_t)p->pad_w * p->input_c;
        memcpy(to, in + y * row, (size_t)row);
    }
    for (int32_t o = 0; o < p->output_c; o++) {
        int32_t word = constant_part(p, filter + o * taps, q.bias[o]);
        memcpy(memory + copied(p) + 4 * (int64_t)o, &word, sizeof word);
    }
}

/* The products of channel o's filter and the window from `start` on. */
static uint32_t products(const qn_s_conv *p, const int8_t *start, const int8_t *filter) {
    const int64_t width = (int64_t)p->filter_w * p->input_c;
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++, start += pitch(p), filter += width) {
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
        const int32_t constant = constant_part(p, filter, q.bias[o]);
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                const int64_t row = y * (int64_t)p->stride_h, column = x * (int64_t)p->stride_w;
                const int8_t *start = memory + row * pitch(p) + column * p->input_c;
                uint32_t acc = (uint32_t)constant + products(p, start, filter);
                int64_t at = ((int64_t)y * p->output_w + x) * p->output_c + o;
                out[at] = (int8_t)s_output(&epilogue, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
            }
        }
    }
}

int s_esp_convolve_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int64_t outputs = (int64_t)p->output_h * p->output_w * p->output_c;
    const int64_t bytes = s_esp_convolve_s8_scratch(p);
    int8_t *memory = b->scratch;
    for (int32_t n = 0; n < p->batches; n++) {
        const int8_t *in = (const int8_t *)b->in[0] + n * image;
        memset(memory, 0, (size_t)bytes);
        if (is_padded(p)) {
            fill_padded(p, in, b, memory);
        } else {
            int64_t left = (p->batches - n) * image;
            memcpy(memory, in, (size_t)(left < bytes ? left : bytes));
        }
        convolve(p, memory, b, (int8_t *)b->out + n * outputs);
    }
    return QN_OK;
}
