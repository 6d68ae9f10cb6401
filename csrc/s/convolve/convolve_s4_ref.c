/* Convolution of the s8 API with weights of 4 bits, plain. */
#include "convolve_helium.h"

/* The products of one output. first: nibble of its channel's filter; in: of its sample. */
static uint32_t products(const qn_s_conv *p, const int8_t *in, const int8_t *filter, int64_t first,
                         int32_t y, int32_t x) {
    uint32_t acc = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, first += p->input_c) {
            int64_t at = s_pixel(p, y, x, ky, kx);
            if (at < 0) {
                continue;
            }
            const int8_t *pixel = in + at * p->input_c;
            for (int32_t c = 0; c < p->input_c; c++) {
                acc += (uint32_t)((pixel[c] + p->input_offset) * qn_nibble(filter, first + c));
            }
        }
    }
    return acc;
}

/* The same of a column on Helium that is not in the middle of its row. */
static uint32_t row_products(const qn_s_conv *p, const int8_t *in, const int8_t *filter, int32_t x,
                             int32_t o) {
    const int64_t at = (int64_t)x * p->stride_w - p->pad_w;
    const int32_t first = at < 0 ? (int32_t)-at : 0;
    uint32_t acc = 0;
    for (int64_t k = first; k < p->filter_w && at + k < p->input_w; k++) {
        for (int32_t c = 0; c < p->input_c; c++) {
            int64_t weight = s_row_nibble(p, first, o, (k - first) * p->input_c + c);
            int32_t value = in[(at + k) * p->input_c + c] + p->input_offset;
            acc += (uint32_t)(value * qn_nibble(filter, weight));
        }
    }
    return acc;
}

int s_convolve_s4_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < p->output_c; o++) {
                    uint32_t acc =
                        (uint32_t)q.bias[o] + products(p, in, b->weights, o * s_taps(p), y, x);
                    *out++ =
                        (int8_t)s_output(&epilogue, qn_wrap32(acc), q.multiplier[o], q.shift[o]);
                }
            }
        }
    }
    return QN_OK;
}

/* left: pixels that are left over with this one, 0 of a pixel that is not; lane: as s_in_lane(). */
static int8_t output(const s_epilogue *s, uint32_t acc, int32_t multiplier, int32_t shift, int left,
                     int lane) {
    if (left < 2 || qn_rounding(s->profile) != QN_SINGLE) {
        return (int8_t)s_output_lane(s, qn_wrap32(acc), multiplier, shift, lane);
    }
    int32_t scaled = qn_requantize_twice(qn_wrap32(acc), multiplier, s_shift(shift));
    return (int8_t)qn_clamp(qn_add32(scaled, s->output_offset), s->act_min, s->act_max);
}

int s_convolve_s4_mve(const void *params, const qn_buffers *b) {
    qn_s_conv of_row = *(const qn_s_conv *)params;
    const int one_row = s_route(&of_row) == QN_S_1XN;
    of_row.pad_h = one_row ? 0 : of_row.pad_h;
    const qn_s_conv *p = &of_row;
    const s_row r = s_row_of(p);
    const s_channels q = s_channels_of(b->bias, p->output_c);
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int64_t pixel = 0; pixel < (int64_t)p->output_h * p->output_w; pixel++) {
            int32_t y = (int32_t)(pixel / p->output_w), x = (int32_t)(pixel % p->output_w);
            int edge = one_row && (x < r.left || x >= p->output_w - r.right);
            int left = edge ? 1 : s_left_over(s_place_of(p, &r, n, y, x));
            for (int32_t o = 0; o < p->output_c; o++) {
                uint32_t acc = (uint32_t)q.bias[o];
                acc += edge ? row_products(p, in, b->weights, x, o)
                            : products(p, in, b->weights, o * s_taps(p), y, x);
                *out++ = output(&epilogue, acc, q.multiplier[o], q.shift[o], left,
                                s_in_lane(left > 0, o, p->output_c));
            }
        }
    }
    return QN_OK;
}
