/* Transposed convolutions, plain. */
#include "convolve_helium.h"
#include "transpose_conv.h"

/* The products of one output, at most 65535 of 23 bits. filter: of its channel; in: the pixels of
 * its sample, of 8 bits or, where wide is set, of 16. */
static int64_t products(const qn_s_transpose_conv *p, const void *in, const int8_t *filter,
                        int32_t y, int32_t x, int wide) {
    int64_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        int64_t in_y = s_met((int64_t)y + p->pad_h, ky, p->stride_h, p->input_h);
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += p->input_c) {
            int64_t in_x = s_met((int64_t)x + p->pad_w, kx, p->stride_w, p->input_w);
            if (in_y < 0 || in_x < 0) {
                continue;
            }
            const int64_t pixel = (in_y * p->input_w + in_x) * p->input_c;
            for (int32_t c = 0; c < p->input_c; c++) {
                int32_t value = wide ? ((const int16_t *)in)[pixel + c]
                                     : ((const int8_t *)in)[pixel + c] + p->input_offset;
                acc += value * filter[c];
            }
        }
    }
    return acc;
}

int s_transpose_conv_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_transpose_conv *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const int64_t pixels = (int64_t)p->output_h * p->output_w;
    const int turned = s_is_turned(p), lanes = p->kernel != QN_S_REFERENCE;
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                const s_place at = {(int64_t)y * p->output_w + x, pixels};
                const int alone = s_left_over(at) > 0;
                for (int32_t o = 0; o < p->output_c; o++) {
                    int32_t sum = s_low(products(p, in, filter + o * taps, y, x, 0));
                    int lane = lanes && (!turned || s_in_lane(alone, o, p->output_c));
                    *out++ = (int8_t)s_output_lane(&epilogue, qn_add32(sum, q.bias[o]),
                                                   q.multiplier[o], q.shift[o], lane);
                }
            }
        }
    }
    return QN_OK;
}

/* One output of 16 bits. */
static int32_t output_s16(const qn_s_transpose_conv *p, const s_channels64 *q, int64_t sum,
                          int32_t o) {
    const int32_t multiplier = s_low(q->multiplier[o]);
    const int32_t shift = qn_clamp(s_low(q->shift[o]), -31, 7);
    int64_t acc = qn_add64(sum, q->bias[o]);
    return qn_clamp(qn_requantize64_tflm(acc, multiplier, shift), p->act_min, p->act_max);
}

int s_transpose_conv_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_transpose_conv *p = params;
    const s_channels64 q = s_channels64_of(b->bias, p->output_c);
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const int16_t *in = b->in[0];
    const int8_t *filter = b->weights;
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < p->output_c; o++) {
                    int64_t sum = products(p, in, filter + o * taps, y, x, 1);
                    *out++ = (int16_t)output_s16(p, &q, sum, o);
                }
            }
        }
    }
    return QN_OK;
}
