/* Convolution of the s16 API, plain. */
#include "convolve_helium.h"

/* A pixel of the output. in: of its sample; unpaired: of a core that computes pixels in pairs;
 * alone: as s_in_lane(). */
typedef struct position {
    const int16_t *in;
    int32_t y, x;
    int unpaired, alone;
} position;

/* The products of taps begin..end-1, counted through the filter of a channel. At most 65535
 * products of 23 bits. */
static int64_t products(const qn_s_conv *p, const position *at, const int8_t *filter, int64_t begin,
                        int64_t end) {
    int64_t acc = 0, tap = 0;
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, tap += p->filter_c) {
            int64_t met = s_pixel(p, at->y, at->x, ky, kx);
            if (met < 0) {
                continue;
            }
            const int16_t *pixel = at->in + met * p->input_c;
            for (int32_t c = 0; c < p->filter_c; c++) {
                int inside = tap + c >= begin && tap + c < end;
                acc += inside ? pixel[c] * filter[tap + c] : 0;
            }
        }
    }
    return acc;
}

/* Channel o of a pixel. */
static int32_t output(const qn_s_conv *p, const s_channels64 *q, const position *at,
                      const int8_t *filter, int32_t o) {
    const s_epilogue epilogue = {p->profile, 0, p->act_min, p->act_max};
    const int32_t multiplier = s_low(q->multiplier[o]), shift = s_low(q->shift[o]);
    const int64_t taps = s_taps(p);
    if (p->bias_is_int32) {
        int32_t acc = qn_add32(s_low(products(p, at, filter, 0, taps)), s_low(q->bias[o]));
        int lane = p->kernel != QN_S_REFERENCE && s_in_lane(at->alone, o, p->output_c);
        return s_output_lane(&epilogue, acc, multiplier, shift, lane);
    }
    if (p->kernel == QN_S_REFERENCE) {
        const int64_t acc = qn_add64(products(p, at, filter, 0, taps), q->bias[o]);
        int32_t scaled = qn_requantize64_tflm(acc, multiplier, qn_clamp(shift, -31, 7));
        return qn_clamp(scaled, p->act_min, p->act_max);
    }
    const int64_t narrow = at->unpaired || taps < S_FAST_TAPS ? taps : S_FAST_TAPS;
    const int64_t acc =
        s_low(products(p, at, filter, 0, narrow)) + products(p, at, filter, narrow, taps);
    return s_output64(&epilogue, qn_add64(acc, q->bias[o]), multiplier, shift);
}

int s_convolve_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_conv *p = params;
    const s_channels64 q = s_channels64_of(b->bias, p->output_c);
    const int64_t image = (int64_t)p->input_h * p->input_w * p->input_c;
    const int in_pairs = qn_path(p->profile) != QN_PATH_MVE;
    const int64_t pixels = (int64_t)p->output_h * p->output_w;
    position at = {.in = b->in[0]};
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, at.in += image) {
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            const int8_t *filter = b->weights;
            at.y = (int32_t)(pixel / p->output_w);
            at.x = (int32_t)(pixel % p->output_w);
            at.unpaired = in_pairs && pixels % 2 && pixel == pixels - 1;
            at.alone = s_left_over((s_place){pixel, pixels}) > 0;
            for (int32_t o = 0; o < p->output_c; o++, filter += s_taps(p)) {
                position own = at;
                own.in += o / (p->output_c / s_groups(p)) * p->filter_c;
                *out++ = (int16_t)output(p, &q, &own, filter, o);
            }
        }
    }
    return QN_OK;
}
