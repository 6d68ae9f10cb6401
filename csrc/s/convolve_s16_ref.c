/* Convolution of the s16 API, plain. */
#include "convolve.h"

/* The products of taps begin..end-1 of one output, counted through the filter of its channel, which
 * starts at filter; in: of its sample. At most 65535 products of 23 bits. */
static int64_t products(const qn_s_conv *p, const int16_t *in, const int8_t *filter, int32_t y,
                        int32_t x, int64_t begin, int64_t end) {
    int64_t acc = 0, tap = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, tap += p->filter_c) {
            int64_t at = s_pixel(p, y, x, ky, kx);
            if (at < 0) {
                continue;
            }
            const int16_t *pixel = in + at * p->input_c;
            for (int32_t c = 0; c < p->filter_c; c++) {
                int inside = tap + c >= begin && tap + c < end;
                acc += inside ? pixel[c] * filter[tap + c] : 0;
            }
        }
    }
    return acc;
}

/* One output of the channel. unpaired: pixel of a core that computes them in pairs. */
static int32_t output(const qn_s_conv *p, const s_channels64 *q, const int16_t *in,
                      const int8_t *filter, int32_t y, int32_t x, int32_t o, int unpaired) {
    const s_stage stage = {p->profile, 0, p->act_min, p->act_max};
    const int32_t multiplier = s_low(q->multiplier[o]), shift = s_low(q->shift[o]);
    const int64_t taps = s_taps(p);
    if (p->bias_is_int32) {
        int32_t acc = qn_add32(s_low(products(p, in, filter, y, x, 0, taps)), s_low(q->bias[o]));
        return s_output(&stage, acc, multiplier, shift);
    }
    const int64_t narrow = unpaired || taps < S_FAST_TAPS ? taps : S_FAST_TAPS;
    const int64_t acc = s_low(products(p, in, filter, y, x, 0, narrow)) +
                        products(p, in, filter, y, x, narrow, taps);
    return s_output64(&stage, qn_add64(acc, q->bias[o]), multiplier, shift);
}

int s_convolve_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_channels64 q = s_channels64_of(b->bias, p->output_c);
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int in_pairs = qn_path(p->profile) != QN_PATH_MVE;
    const int64_t pixels = (int64_t)p->output_h * p->output_w;
    const int16_t *in = b->in[0];
    const int8_t *filter = b->weights;
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += image) {
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            int32_t y = (int32_t)(pixel / p->output_w), x = (int32_t)(pixel % p->output_w);
            int unpaired = in_pairs && pixels % 2 && pixel == pixels - 1;
            for (int32_t o = 0; o < p->output_c; o++) {
                *out++ = (int16_t)output(p, &q, in, filter + o * s_taps(p), y, x, o, unpaired);
            }
        }
    }
    return QN_OK;
}
