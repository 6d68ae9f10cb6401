/* RESIZE_BILINEAR of TensorFlow Lite Micro, plain. */
#include "bilinear.h"

#include "../movement/resize.h"

static int stays_inside(const qn_s_resize *p, char axis, int32_t in, int32_t out, char *why) {
    const s_bilinear_axis a = s_bilinear_axis_of(p, in, out);
    const int32_t last = s_blend_of(&a, out - 1).low;
    if (last >= in) {
        return qn_deny(why, QN_REFUSED,
                       "from input_%c %ld to output_%c %ld the device's rounded steps reach pixel "
                       "%ld, beyond the image",
                       axis, (long)in, axis, (long)out, (long)last);
    }
    return QN_OK;
}

int s_resize_bilinear_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_resize *p = params;
    int status = s_resize_check(p, p->align_corners ? 0 : 1, sizes, why);
    status = status != QN_OK ? status : stays_inside(p, 'h', p->input_h, p->output_h, why);
    return status != QN_OK ? status : stays_inside(p, 'w', p->input_w, p->output_w, why);
}

int s_resize_bilinear_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_resize *p = params;
    const s_bilinear_axis rows = s_bilinear_axis_of(p, p->input_h, p->output_h);
    const s_bilinear_axis columns = s_bilinear_axis_of(p, p->input_w, p->output_w);
    const int64_t row = (int64_t)p->input_w * p->channels;
    const int single = qn_rounding(p->profile) == QN_SINGLE;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++, in += p->input_h * row) {
        for (int32_t i = 0; i < p->output_h; i++) {
            const s_blend y = s_blend_of(&rows, i);
            for (int32_t j = 0; j < p->output_w; j++) {
                const s_blend x = s_blend_of(&columns, j);
                const int8_t *left = in + (int64_t)x.low * p->channels;
                const int8_t *right = in + (int64_t)x.high * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t upper =
                        (1024 - x.part) * left[y.low * row + c] + x.part * right[y.low * row + c];
                    int32_t lower =
                        (1024 - x.part) * left[y.high * row + c] + x.part * right[y.high * row + c];
                    int32_t sum = (1024 - y.part) * upper + y.part * lower;
                    *out++ = (int8_t)(single ? qn_asr(sum + (1 << 19), 20) : qn_rdp(sum, 20));
                }
            }
        }
    }
    return QN_OK;
}
