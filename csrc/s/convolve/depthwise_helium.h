/* Depthwise convolutions of the s8 API on cores with Helium: which sums are in lanes of its
 * vectors, which shows as convolve_helium.h says. QN_S_OPT has all of them there, QN_S_3X3 none.
 * QN_S_ANY has where ch_mult is a multiple of 4, without dilation, of one sample. The wrapper
 * computes one input channel with several outputs as a convolution. */
#ifndef QN_S_DEPTHWISE_HELIUM_H
#define QN_S_DEPTHWISE_HELIUM_H

#include "convolve_helium.h"
#include "depthwise_route.h"

static inline int s_depthwise_is_convolution(const qn_s_depthwise *p) {
    return qn_path(p->profile) == QN_PATH_MVE && p->kernel == QN_S_WRAPPER && p->input_c == 1 &&
           p->ch_mult > 1;
}

static inline qn_s_conv s_depthwise_as_convolution(const qn_s_depthwise *p) {
    return (qn_s_conv){
        .profile = p->profile,
        .batches = p->batches,
        .input_h = p->input_h,
        .input_w = p->input_w,
        .input_c = 1,
        .filter_h = p->filter_h,
        .filter_w = p->filter_w,
        .filter_c = 1,
        .output_h = p->output_h,
        .output_w = p->output_w,
        .output_c = p->ch_mult,
        .stride_h = p->stride_h,
        .stride_w = p->stride_w,
        .pad_h = p->pad_h,
        .pad_w = p->pad_w,
        .dilation_h = p->dilation_h,
        .dilation_w = p->dilation_w,
        .input_offset = p->input_offset,
        .output_offset = p->output_offset,
        .act_min = p->act_min,
        .act_max = p->act_max,
        .bias_is_int32 = 1,
        .kernel = QN_S_WRAPPER,
    };
}

static inline int s_depthwise_in_lane(const qn_s_depthwise *p, int32_t n, int32_t y, int32_t x,
                                      int32_t o) {
    if (s_depthwise_is_convolution(p)) {
        const qn_s_conv whole = s_depthwise_as_convolution(p);
        const s_row row = s_row_of(&whole);
        return s_in_lane(s_left_over(s_place_of(&whole, &row, n, y, x)) > 0, o, p->ch_mult);
    }
    const int32_t route = s_depthwise_route(p);
    int in_fours =
        p->ch_mult % 4 == 0 && p->batches == 1 && p->dilation_h == 1 && p->dilation_w == 1;
    return route == QN_S_OPT || (route == QN_S_ANY && in_fours);
}

#endif
