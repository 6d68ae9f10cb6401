/* Depthwise convolution of the s8 API with weights of 4 bits, plain. */
#include "depthwise_route.h"

/* Taps of a window that lie inside the image. */
static int64_t taps_inside(const qn_s_depthwise *p, int32_t y, int32_t x) {
    int64_t count = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++) {
            count += s_depthwise_pixel(p, y, x, ky, kx) >= 0;
        }
    }
    return count;
}

/* inside: taps inside the image where nibbles depend on it, otherwise -1. */
static uint32_t products(const qn_s_depthwise *p, const int8_t *in, const int8_t *filter, int32_t y,
                         int32_t x, int32_t o, int64_t inside) {
    const int64_t channels = s_depthwise_channels(p);
    int64_t tap = 0, met = 0;
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, tap++) {
            int64_t at = s_depthwise_pixel(p, y, x, ky, kx);
            if (at < 0) {
                continue;
            }
            int64_t weight =
                inside < 0 ? tap * channels + o : s_depthwise_nibble(p, tap, o, met++, inside);
            int32_t value = in[at * p->input_c + o / p->ch_mult] + p->input_offset;
            acc += (uint32_t)(value * qn_nibble(filter, weight));
        }
    }
    return acc;
}

int s_depthwise_s4_ref(const void *params, const qn_buffers *b) {
    const qn_s_depthwise *p = params;
    const int32_t channels = s_depthwise_channels(p);
    const s_channels q = s_channels_of(b->bias, channels);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int opt = s_depthwise_s4_route(p) == QN_S_OPT;
    const int in_order = opt || p->input_c % 2 == 0;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                const int64_t inside = in_order ? -1 : taps_inside(p, y, x);
                for (int32_t o = 0; o < channels; o++) {
                    uint32_t acc =
                        (uint32_t)q.bias[o] + products(p, in, b->weights, y, x, o, inside);
                    *out++ = (int8_t)s_output_lane(&epilogue, qn_wrap32(acc), q.multiplier[o],
                                                   q.shift[o], opt);
                }
            }
        }
    }
    return QN_OK;
}
