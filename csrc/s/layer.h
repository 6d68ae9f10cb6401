/* Convolutions, depthwise convolutions and fully connected layers of the s8 API as one thing: what
 * the fast rows compute. */
#ifndef QN_S_LAYER_H
#define QN_S_LAYER_H

#include "convolve.h"
#include "depthwise.h"
#include "fully_connected.h"
#include "repeat.h"

/* weights: tap i of output channel o at o * channel_step + i * tap_step; nibbles: are they of 4 bits,
 * two in a byte? repeat: how often each channel
 * of the input stands in the image. q: multiplier and shift
 * pair_step * o behind the first. The image's edge is -input_offset. */
typedef struct s_layer {
    image_shape image;
    int32_t batches;
    const int8_t *weights;
    int64_t channel_step, tap_step, pair_step;
    int nibbles;
    int32_t repeat;
    s_channels q;
    s_stage last;
} s_layer;

/* bias: NULL where only the shape is asked for. */
static inline s_channels rows_of_channels(const void *bias, int64_t channels) {
    return bias ? s_channels_of(bias, channels) : (s_channels){NULL, NULL, NULL};
}

static inline int32_t layer_weight(const s_layer *l, int64_t o, int64_t i) {
    const int64_t at = o * l->channel_step + i * l->tap_step;
    return l->nibbles ? qn_nibble(l->weights, at) : l->weights[at];
}

static s_layer layer_of_convolve(const qn_s_conv *p, const void *weights, const void *bias) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->filter_c;
    return (s_layer){
        .image = {p->input_h, p->input_w, s_groups(p), p->filter_c, p->output_h, p->output_w,
                  p->output_c, p->filter_h, p->filter_w, p->stride_h, p->stride_w, p->pad_h,
                  p->pad_w, p->dilation_h, p->dilation_w, -p->input_offset},
        .repeat = 1,
        .batches = p->batches,
        .weights = weights,
        .channel_step = taps,
        .tap_step = 1,
        .pair_step = 1,
        .q = rows_of_channels(bias, p->output_c),
        .last = {p->profile, p->output_offset, p->act_min, p->act_max},
    };
}

static inline s_layer layer_of_depthwise(const qn_s_depthwise *p, const void *weights,
                                         const void *bias) {
    const int32_t channels = s_depthwise_channels(p), repeat = repeats_of(p);
    return (s_layer){
        .image = {p->input_h, p->input_w, repeat > 1 ? channels : p->input_c, 1, p->output_h,
                  p->output_w, channels, p->filter_h, p->filter_w, p->stride_h, p->stride_w,
                  p->pad_h, p->pad_w, p->dilation_h, p->dilation_w, -p->input_offset},
        .repeat = repeat,
        .batches = p->batches,
        .weights = weights,
        .channel_step = 1,
        .tap_step = channels,
        .pair_step = 1,
        .q = rows_of_channels(bias, channels),
        .last = {p->profile, p->output_offset, p->act_min, p->act_max},
    };
}

/* Each vector is a pixel of one image, so that the weights are read once for several of them.
 * pair_step: 1 where each output has its own multiplier and shift, else 0. */
static s_layer layer_of_dense(const qn_s_fc *p, const void *weights, const void *bias,
                              int pair_step) {
    const s_channels one = {bias, &p->multiplier, &p->shift};
    return (s_layer){
        .image = {p->batches, 1, 1, p->input_c, p->batches, 1, p->output_c, 1, 1, 1, 1, 0, 0, 1, 1,
                  -p->input_offset},
        .repeat = 1,
        .batches = 1,
        .weights = weights,
        .channel_step = p->input_c,
        .tap_step = 1,
        .pair_step = pair_step,
        .q = pair_step ? rows_of_channels(bias, p->output_c) : one,
        .last = {p->profile, p->output_offset, p->act_min, p->act_max},
    };
}

/* The same layer with weights of 4 bits. */
static inline s_layer with_nibbles(s_layer layer) {
    layer.nibbles = 1;
    return layer;
}

#endif
