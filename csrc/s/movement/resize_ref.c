/* Resizing to the nearest pixel, plain. */
#include "movement.h"

int s_resize_nearest_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_resize *p = params;
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"align_corners", p->align_corners, 0, 1},
        {"half_pixel_centers", p->half_pixel_centers, 0, 1},
    };
    const int32_t in[] = {p->batches, p->input_h, p->input_w, p->channels};
    const int32_t out[] = {p->batches, p->output_h, p->output_w, p->channels};
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    return status == QN_OK ? s_moved(p->element, in, 4, out, 4, sizes, why) : status;
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
