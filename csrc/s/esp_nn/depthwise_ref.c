/* Depthwise convolution of ESP-NN on an ESP32-S3 in strips of rows, plain. */
#include "depthwise.h"

/* Returns the share of the taps of channel o in rows outside the image, at output (y, x). */
static uint32_t outer_rows(const qn_s_depthwise *p, const int8_t *filter, int32_t y, int32_t x,
                           int32_t o) {
    const int64_t channels = s_depthwise_channels(p);
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_h;
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += channels) {
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            int outside = in_y < 0 || in_y >= p->input_h;
            if (outside && in_x >= 0 && in_x < p->input_w) {
                acc += (uint32_t)(p->input_offset * filter[o]);
            }
        }
    }
    return acc;
}

int s_esp_depthwise_conv_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_depthwise *p = params;
    const int32_t channels = s_depthwise_channels(p);
    const s_channels q = s_channels_of(b->bias, channels);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < channels; o++) {
                    uint32_t acc = (uint32_t)q.bias[o];
                    acc += s_depthwise_products(p, in, filter, y, x, o);
                    acc += outer_rows(p, filter, y, x, o);
                    *out++ =
                        (int8_t)s_output(&epilogue, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
                }
            }
        }
    }
    return QN_OK;
}
