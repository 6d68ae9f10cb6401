/* Transposed convolution of the s8 API, plain. */
#include "convolve_helium.h"
#include "transpose_conv.h"

/* The products of one output. filter: of its channel; in: of its sample. */
static uint32_t products(const qn_s_transpose_conv *p, const int8_t *in, const int8_t *filter,
                         int32_t y, int32_t x) {
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        int64_t in_y = s_met((int64_t)y + p->pad_h, ky, p->stride_h, p->input_h);
        for (int32_t kx = 0; kx < p->filter_w; kx++, filter += p->input_c) {
            int64_t in_x = s_met((int64_t)x + p->pad_w, kx, p->stride_w, p->input_w);
            if (in_y < 0 || in_x < 0) {
                continue;
            }
            const int8_t *pixel = in + (in_y * p->input_w + in_x) * p->input_c;
            for (int32_t c = 0; c < p->input_c; c++) {
                acc += (uint32_t)((pixel[c] + p->input_offset) * filter[c]);
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
    const int turned = s_is_turned(p);
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                const s_place at = {(int64_t)y * p->output_w + x, pixels};
                const int alone = s_left_over(at) > 0;
                for (int32_t o = 0; o < p->output_c; o++) {
                    uint32_t acc = (uint32_t)q.bias[o] + products(p, in, filter + o * taps, y, x);
                    int lane = !turned || s_in_lane(alone, o, p->output_c);
                    *out++ = (int8_t)s_output_lane(&epilogue, qn_wrap32(acc), q.multiplier[o],
                                                   q.shift[o], lane);
                }
            }
        }
    }
    return QN_OK;
}
