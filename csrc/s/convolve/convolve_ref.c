/* The plain row of the convolution of the s8 API, which defines its bits. */
#include "convolve.h"

int s_convolve_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < p->output_c; o++) {
                    uint32_t acc = (uint32_t)q.bias[o] + s_products(p, in, filter, y, x, o);
                    *out++ =
                        (int8_t)s_output(&epilogue, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
                }
            }
        }
    }
    return QN_OK;
}
