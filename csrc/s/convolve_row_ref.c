/* Convolution of the s8 API on cores with Helium, plain: one row in three stretches. */
#include "convolve_row.h"

/* The products of one output. filter: of its channel; in: of its sample. */
static uint32_t products(const qn_s_conv *p, const s_row *r, const int8_t *in, const int8_t *filter,
                         int32_t x) {
    uint32_t acc = 0;
    for (int32_t k = 0; k < p->filter_w; k++, filter += p->input_c) {
        int64_t at = s_row_pixel(p, r, x, k);
        if (at < 0) {
            continue;
        }
        const int8_t *pixel = in + at * p->input_c;
        for (int32_t c = 0; c < p->input_c; c++) {
            acc += (uint32_t)((pixel[c] + p->input_offset) * filter[c]);
        }
    }
    return acc;
}

int s_convolve_s8_mve(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_row r = s_row_of(p);
    if (s_route(p) != QN_S_1XN || !r.split) {
        return s_convolve_s8_ref(params, b);
    }
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_stage stage = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += (int64_t)p->input_w * p->input_c) {
        for (int32_t x = 0; x < p->output_w; x++) {
            for (int32_t o = 0; o < p->output_c; o++) {
                uint32_t acc = (uint32_t)q.bias[o] + products(p, &r, in, filter + o * s_taps(p), x);
                *out++ = (int8_t)s_output(&stage, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
            }
        }
    }
    return QN_OK;
}
