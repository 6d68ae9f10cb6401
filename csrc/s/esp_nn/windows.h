/* The memory that the windows of the convolutions of ESP-NN on an ESP32-S3 read; see convolve.h. */
#ifndef QN_S_ESP_WINDOWS_H
#define QN_S_ESP_WINDOWS_H

#include <string.h>

#include "convolve.h"

/* Bytes of a row of the memory that windows read. */
static inline int64_t s_esp_pitch(const qn_s_conv *p) {
    return (p->input_w + 2 * (int64_t)p->pad_w) * p->input_c;
}

/* Bytes of the padded copy of an image. */
static inline int64_t s_esp_copied(const qn_s_conv *p) {
    return (p->input_h + 2 * (int64_t)p->pad_h) * s_esp_pitch(p);
}

/* Bytes of the copy and of what follows it, up to the end of the last window. */
static inline int64_t s_esp_memory(const qn_s_conv *p) {
    int64_t row = (p->output_h - 1) * (int64_t)p->stride_h + p->filter_h - 1;
    int64_t column = (p->output_w - 1) * (int64_t)p->stride_w + p->filter_w;
    int64_t read = row * s_esp_pitch(p) + column * p->input_c;
    int64_t written = s_esp_copied(p) + (int64_t)sizeof(int32_t) * p->output_c;
    return written > read ? written : read;
}

/* input_offset times the sum of a channel's filter, and its bias. */
static inline int32_t s_esp_constant(const qn_s_conv *p, const int8_t *filter, int32_t bias) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    int32_t sum = 0; /* at most 65535 taps of 8 bits */
    for (int64_t i = 0; i < taps; i++) {
        sum += filter[i];
    }
    return qn_wrap32((uint32_t)(sum * p->input_offset) + (uint32_t)bias);
}

/* Fills the memory of image n of a batch. */
static inline void s_esp_fill(const qn_s_conv *p, const qn_buffers *b, int32_t n, int8_t *memory) {
    const int64_t row = (int64_t)p->input_w * p->input_c, image = p->input_h * row;
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const int64_t bytes = s_esp_memory(p), left = (p->batches - n) * image;
    const int8_t *in = (const int8_t *)b->in[0] + n * image, *filter = b->weights;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    memset(memory, 0, (size_t)bytes);
    if (p->pad_h == 0 && p->pad_w == 0) {
        memcpy(memory, in, (size_t)(left < bytes ? left : bytes));
        return;
    }
    memset(memory, -p->input_offset, (size_t)s_esp_copied(p));
    for (int32_t y = 0; y < p->input_h; y++) {
        int8_t *to = memory + (y + p->pad_h) * s_esp_pitch(p) + (int64_t)p->pad_w * p->input_c;
        memcpy(to, in + y * row, (size_t)row);
    }
    for (int32_t o = 0; o < p->output_c; o++) {
        int32_t word = s_esp_constant(p, filter + o * taps, q.bias[o]);
        memcpy(memory + s_esp_copied(p) + 4 * (int64_t)o, &word, sizeof word);
    }
}

/* The first byte of the window of output (y, x). */
static inline const int8_t *s_esp_window(const qn_s_conv *p, const int8_t *memory, int32_t y,
                                         int32_t x) {
    return memory + y * (int64_t)p->stride_h * s_esp_pitch(p) +
           x * (int64_t)p->stride_w * p->input_c;
}

#endif
