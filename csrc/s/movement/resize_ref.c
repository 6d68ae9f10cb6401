/* Resizing to the nearest pixel, plain. */
#include "resize.h"

int s_resize_nearest_check(const void *params, qn_sizes *sizes, char *why) {
    return s_resize_check(params, 1, sizes, why);
}

int s_resize_nearest_ref(const void *params, const qn_buffers *b) {
    const qn_s_resize *p = params;
    const size_t pixel = (size_t)p->channels * (size_t)p->element;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            int32_t in_y = qn_nearest_neighbor(y, p->input_h, p->output_h, p->align_corners,
                                               p->half_pixel_centers);
            for (int32_t x = 0; x < p->output_w; x++, out += pixel) {
                int32_t in_x = qn_nearest_neighbor(x, p->input_w, p->output_w, p->align_corners,
                                                   p->half_pixel_centers);
                int64_t position = ((int64_t)n * p->input_h + in_y) * p->input_w + in_x;
                memcpy(out, in + position * (int64_t)pixel, pixel);
            }
        }
    }
    return QN_OK;
}
