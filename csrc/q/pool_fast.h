/* Conditions under which the two passes of the DSP path equal clipped windows, for the fast rows of
 * pooling. */
#ifndef QN_Q_POOL_FAST_H
#define QN_Q_POOL_FAST_H

#include "pool.h"

enum { SLACK = 64 }; /* bytes that vectors may read or write after an array in scratch */

/* True if the passes equal clipped windows. With padding < stride no window reads a pixel that was
 * overwritten before, and only the first window starts outside the image. With padding < dim_kernel
 * that window is not empty. */
static inline int windows_are_clipped(const qn_pool *p) {
    return !qn_is_dsp(p->profile) || (p->padding_x < p->stride_x && p->padding_x < p->dim_kernel_x);
}

static inline q_span window_x(const qn_pool *p, int32_t x) {
    return q_pool_window(x, p->stride_x, p->padding_x, p->dim_kernel_x, p->dim_im_in_x);
}

static inline q_span window_y(const qn_pool *p, int32_t y) {
    return q_pool_window(y, p->stride_y, p->padding_y, p->dim_kernel_y, p->dim_im_in_y);
}

static inline int is_empty(q_span window) { return window.start >= window.stop; }

#endif
