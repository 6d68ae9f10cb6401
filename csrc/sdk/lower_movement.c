/* Lowering to steps of layers that move channels and compute nothing. */
#include <stdlib.h>

#include "net.h"

/* Copy channels from `first` on of a and b, as if concatenated. With groups, transpose the channels
 * [group][n] to [n][group]. */
static int move(cnn_net *net, uint32_t a, uint32_t b, uint32_t to, int32_t first, int32_t groups) {
    static const cnn_op channels[] = {{n_channels_s8_check, n_channels_s8_ref},
                                      {n_channels_s16_check, n_channels_s16_ref}};
    const cnn_tensor *image = &net->tensors[a], *out = &net->tensors[to];
    cnn_step step = {.in = {a, b}, .out = to};
    int64_t bytes = out->channels * (int64_t)sizeof(int32_t);
    int32_t *map = malloc((size_t)bytes), each = out->channels / groups;
    if (!map) {
        return cnn_deny(net, "there is no memory for layer %lu", (unsigned long)net->layer);
    }
    for (int32_t i = 0; i < out->channels; i++) {
        map[i] = groups == 1 ? first + i : i % groups * each + i / groups;
    }
    step.weights = map;
    step.params.channels =
        (qn_npu_channels){QN_PROFILE_NPU, image->height * image->width, image->channels,
                          net->tensors[b].channels, out->channels};
    return cnn_add_step(net, channels[net->bits == 16], step, bytes, 0);
}

static int slice(cnn_net *net, const cnn_layer *layer) {
    uint32_t from = cnn_bottom(layer, 0);
    const cnn_tensor *image = &net->tensors[from];
    int32_t first = 0;
    for (uint32_t i = 0; i < layer->makes; i++) {
        const cnn_tensor *part = &net->tensors[layer->top + i];
        if (part->channels > image->channels - first ||
            cnn_is_shape(net, layer->top + i, part->channels, image->height, image->width) ||
            move(net, from, from, layer->top + i, first, 1)) {
            return cnn_deny(net, "layer %lu slices more channels than its input has",
                            (unsigned long)net->layer);
        }
        first += part->channels;
    }
    return first == image->channels
               ? 0
               : cnn_deny(net, "layer %lu slices fewer channels than its input has",
                          (unsigned long)net->layer);
}

/* Concatenate all inputs, one at a time. Return the last tensor: the layer's own one, or for a sum
 * a new one with the terms of each channel next to each other. Return -1 on error. */
static int64_t join(cnn_net *net, const cnn_layer *layer, int sum) {
    uint32_t total = cnn_bottom(layer, 0);
    for (uint32_t i = 1; i < layer->reads; i++) {
        uint32_t other = cnn_bottom(layer, i);
        int last = i + 1 == layer->reads;
        cnn_tensor joined = net->tensors[total];
        if (cnn_is_shape(net, other, net->tensors[other].channels, joined.height, joined.width)) {
            return -1;
        }
        joined.channels += net->tensors[other].channels;
        int64_t to = layer->top;
        if (!last || sum) {
            to = joined.channels <= UINT16_MAX ? cnn_new_tensor(net, joined) : -1;
        } else if (cnn_is_shape(net, layer->top, joined.channels, joined.height, joined.width)) {
            return -1;
        }
        int32_t groups = last && sum ? (int32_t)layer->reads : 1;
        if (to < 0 || move(net, total, other, (uint32_t)to, 0, groups)) {
            return cnn_deny(net, "layer %lu concatenates more than 65535 channels",
                            (unsigned long)net->layer);
        }
        total = (uint32_t)to;
    }
    return total;
}

/* Lower a sum to a 1x1 convolution of the concatenation, with weights of 1. */
int cnn_lower_sum(cnn_net *net, const cnn_layer *layer, int32_t shift) {
    static const cnn_op convolve[] = {{n_convolve_s8_check, n_convolve_s8_ref},
                                      {n_convolve_s16_check, n_convolve_s16_ref}};
    int64_t joined = join(net, layer, 1);
    if (joined < 0) {
        return -1;
    }
    cnn_step step = {.in = {(uint32_t)joined, (uint32_t)joined}, .out = layer->top};
    int32_t height = net->tensors[joined].height, width = net->tensors[joined].width;
    int32_t channels = net->tensors[layer->top].channels, parts = (int32_t)layer->reads;
    step.params.conv = (qn_npu_conv){.profile = QN_PROFILE_NPU,
                                     .in_h = height,
                                     .in_w = width,
                                     .group = channels,
                                     .depth = parts,
                                     .out_h = height,
                                     .out_w = width,
                                     .out_c = channels,
                                     .kernel_h = 1,
                                     .kernel_w = 1,
                                     .stride_h = 1,
                                     .stride_w = 1,
                                     .dilation_h = 1,
                                     .dilation_w = 1};
    int64_t ones = (int64_t)channels * parts, pairs = (int64_t)channels * 2;
    step.weights = malloc((size_t)(ones * net->element));
    step.bias = malloc((size_t)pairs * sizeof(int64_t));
    if (!step.weights || !step.bias) {
        free(step.weights);
        free(step.bias);
        return cnn_deny(net, "there is no memory for layer %lu", (unsigned long)net->layer);
    }
    for (int64_t i = 0; i < ones; i++) {
        if (net->bits == 8) {
            ((int8_t *)step.weights)[i] = 1;
        } else {
            ((int16_t *)step.weights)[i] = 1;
        }
    }
    for (int64_t i = 0; i < pairs; i++) {
        ((int64_t *)step.bias)[i] = i % 2 ? shift : 0;
    }
    return cnn_add_step(net, convolve[net->bits == 16], step, ones * net->element,
                        pairs * (int64_t)sizeof(int64_t));
}

int cnn_lower_movement(cnn_net *net, const cnn_layer *layer) {
    if (cnn_same_frac(net, layer)) {
        return -1;
    }
    if (layer->type == CNN_SLICE) {
        return slice(net, layer);
    }
    if (layer->type == CNN_CONCAT) {
        return join(net, layer, 0) < 0 ? -1 : 0;
    }
    uint32_t from = cnn_bottom(layer, 0);
    const cnn_tensor *image = &net->tensors[from];
    int32_t groups = layer->own[0];
    if (groups < 1 || image->channels % groups) {
        return cnn_deny(net,
                        "layer %lu shuffles %ld channels in %ld groups, no divisor of the channels",
                        (unsigned long)net->layer, (long)image->channels, (long)groups);
    }
    return cnn_is_shape(net, layer->top, image->channels, image->height, image->width)
               ? -1
               : move(net, from, from, layer->top, 0, groups);
}
