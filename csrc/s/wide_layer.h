/* Convolutions, depthwise convolutions and fully connected layers of the s16 API as one thing: what
 * the fast rows compute. Their sums have 64 bits, or 32 where `narrow` is set. */
#ifndef QN_S_WIDE_LAYER_H
#define QN_S_WIDE_LAYER_H

#include "convolve.h"
#include "depthwise.h"
#include "fully_connected.h"
#include "repeat.h"

/* weights: tap i of output channel o at o * channel_step + i * tap_step. q: without multipliers and
 * shifts where `multiplier` and `shift` are those of all. in_pairs: of an odd number of pixels the
 * last has its products modulo 2^32. repeat: as in layer.h. */
typedef struct s_wide_layer {
    image_shape image;
    int32_t batches;
    const int8_t *weights;
    int64_t channel_step, tap_step;
    s_channels64 q;
    int32_t multiplier, shift, repeat;
    int narrow, in_pairs;
    s_stage last;
} s_wide_layer;

/* bias: NULL where only the shape is asked for. */
static inline s_channels64 rows_of_wide(const void *bias, int64_t channels) {
    return bias ? s_channels64_of(bias, channels) : (s_channels64){NULL, NULL, NULL};
}

static s_wide_layer wide_convolve(const qn_s_conv *p, const void *weights, const void *bias) {
    return (s_wide_layer){
        .repeat = 1,
        .image = {p->input_h, p->input_w, 1, p->filter_c, p->output_h, p->output_w, p->output_c,
                  p->filter_h, p->filter_w, p->stride_h, p->stride_w, p->pad_h, p->pad_w,
                  p->dilation_h, p->dilation_w, 0},
        .batches = p->batches,
        .weights = weights,
        .channel_step = s_taps(p),
        .tap_step = 1,
        .q = rows_of_wide(bias, p->output_c),
        .narrow = p->bias_is_int32,
        .in_pairs = qn_path(p->profile) != QN_PATH_MVE,
        .last = {p->profile, 0, p->act_min, p->act_max},
    };
}

static s_wide_layer wide_depthwise(const qn_s_depthwise *p, const void *weights, const void *bias) {
    const int32_t channels = s_depthwise_channels(p), repeat = repeats_of(p);
    return (s_wide_layer){
        .repeat = repeat,
        .image = {p->input_h, p->input_w, repeat > 1 ? channels : p->input_c, 1, p->output_h,
                  p->output_w, channels, p->filter_h, p->filter_w, p->stride_h, p->stride_w,
                  p->pad_h, p->pad_w, p->dilation_h, p->dilation_w, 0},
        .batches = p->batches,
        .weights = weights,
        .channel_step = 1,
        .tap_step = channels,
        .q = rows_of_wide(bias, channels),
        .last = {p->profile, 0, p->act_min, p->act_max},
    };
}

/* Each vector is a pixel of one image. */
static s_wide_layer wide_dense(const qn_s_fc *p, const void *weights, const void *bias) {
    return (s_wide_layer){
        .repeat = 1,
        .image = {p->batches, 1, 1, p->input_c, p->batches, 1, p->output_c, 1, 1, 1, 1, 0, 0, 1, 1,
                  0},
        .batches = 1,
        .weights = weights,
        .channel_step = p->input_c,
        .tap_step = 1,
        .q = {bias, NULL, NULL},
        .multiplier = p->multiplier,
        .shift = p->shift,
        .last = {p->profile, 0, p->act_min, p->act_max},
    };
}

/* A channel's pair, and the magnitude that none of its sums passes; without a bias that is narrow. */
static stage_channel wide_channel(const s_wide_layer *l, int64_t o) {
    const int64_t bias = l->narrow ? 0 : l->q.bias[o];
    const int64_t size = bias < 0 ? -(bias + 1) : bias; /* of the lowest, too */
    int64_t sum = 0;
    for (int64_t i = 0; i < image_taps(&l->image); i++) {
        const int32_t w = l->weights[o * l->channel_step + i * l->tap_step];
        sum += w < 0 ? -w : w;
    }
    return (stage_channel){
        l->q.multiplier ? s_low(l->q.multiplier[o]) : l->multiplier,
        l->q.shift ? s_low(l->q.shift[o]) : l->shift,
        size > INT32_MAX ? INT64_MAX : size + 1 + sum * -(int64_t)INT16_MIN,
    };
}

/* Can the first 512 products, which the device has in 32 bits, leave these? */
static int wide_head_wraps(const s_wide_layer *l, int64_t o) {
    int64_t lowest = 0;
    while (lowest < image_taps(&l->image) && lowest < S_FAST_TAPS &&
           l->weights[o * l->channel_step + lowest * l->tap_step] == INT8_MIN) {
        lowest++;
    }
    return lowest == S_FAST_TAPS;
}

#endif
