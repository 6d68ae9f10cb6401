/* Depthwise convolution of the s16 API, plain. */
#include "depthwise.h"

/* At most 65535 products of 23 bits. */
static int64_t products(const qn_s_depthwise *p, const int16_t *in, const int8_t *filter, int32_t y,
                        int32_t x, int32_t o) {
    const int64_t channels = s_depthwise_channels(p);
    int64_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += channels) {
            int64_t at = s_depthwise_pixel(p, y, x, ky, kx);
            if (at >= 0) {
                acc += in[at * p->input_c + o / p->ch_mult] * filter[o];
            }
        }
    }
    return acc;
}

int s_depthwise_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_depthwise *p = params;
    const int32_t channels = s_depthwise_channels(p);
    const s_channels64 q = s_channels64_of(b->bias, channels);
    const s_epilogue epilogue = {p->profile, 0, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int16_t *in = b->in[0];
    const int8_t *filter = b->weights;
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < channels; o++) {
                    int64_t acc = qn_add64(products(p, in, filter, y, x, o), q.bias[o]);
                    *out++ = (int16_t)s_output64(&epilogue, acc, s_low(q.multiplier[o]),
                                                 s_low(q.shift[o]));
                }
            }
        }
    }
    return QN_OK;
}
