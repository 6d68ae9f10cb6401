/* Convolution of the s8 API on cores with Helium, plain. */
#include "convolve_helium.h"

/* The products of channel o in column x of one row. in: of its sample. */
static uint32_t row_products(const qn_s_conv *p, const s_row *r, const int8_t *in,
                             const int8_t *filter, int32_t x, int32_t o) {
    uint32_t acc = 0;
    filter += o * s_taps(p);
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
    const int one_row = s_route(p) == QN_S_1XN && r.split;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int32_t group = p->output_c / s_groups(p);
    const int8_t *in = b->in[0], *filter = b->weights;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int64_t pixel = 0; pixel < (int64_t)p->output_h * p->output_w; pixel++) {
            int32_t y = (int32_t)(pixel / p->output_w), x = (int32_t)(pixel % p->output_w);
            int alone = s_left_over(s_place_of(p, &r, n, y, x)) > 0;
            for (int32_t o = 0; o < p->output_c; o++) {
                uint32_t acc = (uint32_t)q.bias[o];
                acc += one_row ? row_products(p, &r, in, filter, x, o)
                               : s_products(p, in, filter, y, x, o);
                *out++ = (int8_t)s_output_lane(&epilogue, qn_wrap32(acc), q.multiplier[o],
                                               q.shift[o], s_in_lane(alone, o % group, group));
            }
        }
    }
    return QN_OK;
}
