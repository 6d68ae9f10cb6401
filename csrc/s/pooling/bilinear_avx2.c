/* RESIZE_BILINEAR on AVX2: the products of both parts once for each pixel, channels side by side.
 * */
#include "bilinear.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

/* The four pixels that one is blended of, and their weights in steps of 2^-20. */
typedef struct corners {
    const int8_t *pixels[4];
    int32_t weights[4];
} corners;

static corners corners_of(const int8_t *upper, const int8_t *lower, s_blend y, s_blend x,
                          int64_t channels) {
    const int64_t left = x.low * channels, right = x.high * channels;
    const int32_t top = 1024 - y.part, near = 1024 - x.part;
    return (corners){{upper + left, upper + right, lower + left, lower + right},
                     {top * near, top * x.part, y.part * near, y.part * x.part}};
}

/* signs: 1 where halves of negative sums go down. */
static void blend(const corners *c, int32_t channels, int32_t signs, int8_t *restrict out) {
    const int8_t *a = c->pixels[0], *b = c->pixels[1], *d = c->pixels[2], *e = c->pixels[3];
    const int32_t wa = c->weights[0], wb = c->weights[1], wd = c->weights[2], we = c->weights[3];
    for (int32_t i = 0; i < channels; i++) {
        const int32_t sum = wa * a[i] + wb * b[i] + wd * d[i] + we * e[i];
        out[i] = (int8_t)qn_asr(sum + (1 << 19) - (signs & (sum < 0)), 20);
    }
}

int s_resize_bilinear_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_resize *p = params;
    const s_bilinear_axis rows = s_bilinear_axis_of(p, p->input_h, p->output_h);
    const s_bilinear_axis columns = s_bilinear_axis_of(p, p->input_w, p->output_w);
    const int64_t row = (int64_t)p->input_w * p->channels;
    const int32_t signs = qn_rounding(p->profile) != QN_SINGLE;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_h * row) {
        for (int32_t i = 0; i < p->output_h; i++) {
            const s_blend y = s_blend_of(&rows, i);
            for (int32_t j = 0; j < p->output_w; j++, out += p->channels) {
                const corners c = corners_of(in + y.low * row, in + y.high * row, y,
                                             s_blend_of(&columns, j), p->channels);
                blend(&c, p->channels, signs, out);
            }
        }
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
