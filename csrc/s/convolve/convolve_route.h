/* Choice of Arm's function for a convolution of the s8 API, and what that one asks for. */
#ifndef QN_S_CONVOLVE_ROUTE_H
#define QN_S_CONVOLVE_ROUTE_H

#include "convolve.h"

static inline int s_is_1x1(const qn_s_conv *p) {
    return p->pad_h == 0 && p->pad_w == 0 && p->filter_h == 1 && p->filter_w == 1 &&
           p->dilation_h == 1 && p->dilation_w == 1 && p->input_c == p->filter_c;
}

static inline int s_is_1xn(const qn_s_conv *p) {
    return p->input_h == 1 && p->filter_h == 1 && p->dilation_w == 1 &&
           (int64_t)p->stride_w * p->input_c % 4 == 0 && p->input_c == p->filter_c;
}

/* QN_S_ANY, QN_S_1X1, QN_S_1X1_FAST, QN_S_1XN or, where the user calls it, QN_S_EVEN. */
static inline int32_t s_route(const qn_s_conv *p) {
    if (p->kernel != QN_S_WRAPPER) {
        return p->kernel;
    }
    if (s_is_1x1(p)) {
        return p->stride_h == 1 && p->stride_w == 1 ? QN_S_1X1_FAST : QN_S_1X1;
    }
    return s_is_1xn(p) ? QN_S_1XN : QN_S_ANY;
}

/* Requirements of the function that computes this, and where it would leave its arrays or give no
 * defined bits; s4: of packed weights. QN_OK, or a status and a sentence. */
int s_convolve_route_check(const qn_s_conv *p, int s4, char *why);

#endif
