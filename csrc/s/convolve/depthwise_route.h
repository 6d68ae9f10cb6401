/* Choice of Arm's function for a depthwise convolution. */
#ifndef QN_S_DEPTHWISE_ROUTE_H
#define QN_S_DEPTHWISE_ROUTE_H

#include "depthwise.h"

static inline int s_depthwise_is_opt(const qn_s_depthwise *p) {
    return p->ch_mult == 1 && p->batches == 1 && p->dilation_h == 1 && p->dilation_w == 1;
}

/* s8. */
static inline int32_t s_depthwise_route(const qn_s_depthwise *p) {
    if (p->kernel != QN_S_WRAPPER) {
        return p->kernel;
    }
    if (!s_depthwise_is_opt(p)) {
        return QN_S_ANY;
    }
    int is_3x3 = p->filter_h == 3 && p->filter_w == 3 && p->pad_h <= 1 && p->pad_w <= 1;
    return is_3x3 && qn_path(p->profile) != QN_PATH_MVE ? QN_S_3X3 : QN_S_OPT;
}

static inline int32_t s_depthwise_s4_route(const qn_s_depthwise *p) {
    if (p->kernel != QN_S_WRAPPER) {
        return p->kernel;
    }
    return s_depthwise_is_opt(p) ? QN_S_OPT : QN_S_ANY;
}

/* More taps than the fast s16 function can sum in 32 bits. */
enum { S_DEPTHWISE_SLOW_TAPS = 512 };

static inline int32_t s_depthwise_s16_route(const qn_s_depthwise *p) {
    if (p->kernel != QN_S_WRAPPER) {
        return p->kernel;
    }
    int few = (int64_t)p->filter_h * p->filter_w < S_DEPTHWISE_SLOW_TAPS;
    int fast = p->ch_mult == 1 && p->dilation_h == 1 && p->dilation_w == 1 && few;
    return fast ? QN_S_OPT : QN_S_ANY;
}

#endif
