/* Common checks of resizing: sides, and which pixels they mean. most_half: what
 * half_pixel_centers may be at most. */
#ifndef QN_S_RESIZE_H
#define QN_S_RESIZE_H

#include "movement.h"

static inline int s_resize_check(const qn_s_resize *p, int32_t most_half, qn_sizes *sizes,
                                 char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"align_corners", p->align_corners, 0, 1},
        {"half_pixel_centers", p->half_pixel_centers, 0, most_half},
    };
    const int32_t in[] = {p->batches, p->input_h, p->input_w, p->channels};
    const int32_t out[] = {p->batches, p->output_h, p->output_w, p->channels};
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    return status == QN_OK ? s_moved(p->element, in, 4, out, 4, sizes, why) : status;
}

#endif
