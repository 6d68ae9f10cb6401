/* Lowering of elementwise layers to steps, and the choice of a lowering function for each type. */
#include <stdlib.h>
#include <string.h>

#include "net.h"

static int same_shape(cnn_net *net, uint32_t tensor, uint32_t as) {
    const cnn_tensor *like = &net->tensors[as];
    return cnn_is_shape(net, tensor, like->channels, like->height, like->width);
}

/* Check the fraction bits that the hardware fixes: given for 8 bits; 16 bits have 8 more. */
static int fixed_fracs(cnn_net *net, const cnn_layer *layer, int32_t in, int32_t out) {
    const int32_t more = net->bits - 8, has_in = net->tensors[cnn_bottom(layer, 0)].frac;
    const int32_t has_out = net->tensors[layer->top].frac;
    if (has_in != in + more || has_out != out + more) {
        return cnn_deny(net,
                        "layer %lu has %ld and %ld fraction bits, its type requires %ld and %ld",
                        (unsigned long)net->layer, (long)has_in, (long)has_out, (long)(in + more),
                        (long)(out + more));
    }
    return 0;
}

/* Copy `bytes` of the file. Return NULL, with the reason in net->why, if there is no memory. */
static void *copy_bytes(cnn_net *net, const uint8_t *from, size_t bytes) {
    void *own = malloc(bytes);
    if (!own) {
        cnn_deny(net, "there is no memory for layer %lu", (unsigned long)net->layer);
        return NULL;
    }
    return memcpy(own, from, bytes);
}

static cnn_step step_of(const cnn_layer *layer) {
    cnn_step step = {0};
    step.in[0] = cnn_bottom(layer, 0);
    step.in[1] = cnn_bottom(layer, layer->reads > 1);
    step.out = layer->top;
    return step;
}

static int32_t length(const cnn_net *net, uint32_t tensor) {
    return (int32_t)(net->tensors[tensor].bytes / net->element);
}

static int lower_rectifier(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op relu[] = {{n_each_s8_check, n_relu_s8_ref},
                                  {n_each_s16_check, n_relu_s16_ref}};
    static const cnn_op clip[] = {{n_each_s8_check, n_clip_s8_ref},
                                  {n_each_s16_check, n_clip_s16_ref}};
    cnn_step step = step_of(layer);
    step.params.each = (qn_npu_each){QN_PROFILE_NPU, length(net, layer->top), 0, 0};
    if (layer->type == CNN_RELU) {
        step.params.each.slope = layer->own[0];
        return cnn_same_frac(net, layer) || cnn_add_step(net, relu[net->bits == 16], step, 0, 0);
    }
    step.params.each.high = net->bits == 8 ? 6 << 4 : 6 << 12;
    return fixed_fracs(net, layer, 4, 4) || cnn_add_step(net, clip[net->bits == 16], step, 0, 0);
}

static int lower_lookup(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op lookup[] = {{n_lookup_s8_check, n_lookup_s8_ref},
                                    {n_lookup_s16_check, n_lookup_s16_ref}};
    int64_t bytes = net->bits == 8 ? 1 << 8 : 2 << 16;
    cnn_step step = step_of(layer);
    step.params.each = (qn_npu_each){QN_PROFILE_NPU, length(net, layer->top), 0, 0};
    if (fixed_fracs(net, layer, layer->type == CNN_TANH ? 5 : 4, 7)) {
        return -1;
    }
    step.weights = copy_bytes(net, layer->table, (size_t)bytes);
    return step.weights ? cnn_add_step(net, lookup[net->bits == 16], step, bytes, 0) : -1;
}

static int lower_log_softmax(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op log_softmax[] = {{n_log_softmax_s8_check, n_log_softmax_s8_ref},
                                         {n_log_softmax_s16_check, n_log_softmax_s16_ref}};
    int64_t bytes = net->bits == 8 ? 64 : 2 * 40960;
    const cnn_tensor *image = &net->tensors[layer->top];
    cnn_step step = step_of(layer);
    step.params.pixels = (qn_npu_pixels){QN_PROFILE_NPU, length(net, layer->top) / image->channels,
                                         image->channels, 0};
    if (fixed_fracs(net, layer, 4, 4)) {
        return -1;
    }
    step.weights = copy_bytes(net, layer->table, (size_t)bytes);
    return step.weights ? cnn_add_step(net, log_softmax[net->bits == 16], step, bytes, 0) : -1;
}

static int lower_eltwise(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op add[] = {{n_add_s8_check, n_add_s8_ref}, {n_add_s16_check, n_add_s16_ref}};
    cnn_step step = step_of(layer);
    int32_t frac = net->tensors[step.in[0]].frac, shift = frac - net->tensors[step.out].frac;
    for (uint32_t i = 1; i < layer->reads; i++) {
        uint32_t other = cnn_bottom(layer, i);
        if (same_shape(net, other, step.in[0])) {
            return -1;
        }
        if (net->tensors[other].frac != frac) {
            return cnn_deny(
                net, "layer %lu adds tensors of %ld and %ld fraction bits, both must be equal",
                (unsigned long)net->layer, (long)frac, (long)net->tensors[other].frac);
        }
    }
    if (cnn_shift(net, "sum", shift)) {
        return -1;
    }
    if (layer->reads > 2) {
        return cnn_lower_sum(net, layer, shift);
    }
    step.params.add = (qn_npu_add){QN_PROFILE_NPU, length(net, step.out), shift};
    return cnn_add_step(net, add[net->bits == 16], step, 0, 0);
}

static int lower_scale(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op scale[] = {{n_scale_by_tensor_s8_check, n_scale_by_tensor_s8_ref},
                                   {n_scale_by_tensor_s16_check, n_scale_by_tensor_s16_ref}};
    cnn_step step = step_of(layer);
    const cnn_tensor *image = &net->tensors[step.in[0]];
    int32_t shift = image->frac + net->tensors[step.in[1]].frac - net->tensors[step.out].frac;
    if (cnn_is_shape(net, step.in[1], image->channels, 1, 1) || cnn_shift(net, "product", shift)) {
        return -1;
    }
    int32_t pixels = length(net, step.out) / image->channels;
    step.params.pixels = (qn_npu_pixels){QN_PROFILE_NPU, pixels, image->channels, shift};
    return cnn_add_step(net, scale[net->bits == 16], step, 0, 0);
}

int cnn_lower(cnn_net *net, const cnn_layer *layer) {
    switch (layer->type) {
        case CNN_INPUT:
            return 0;
        case CNN_INNER_PRODUCT:
        case CNN_CONVOLUTION:
        case CNN_BATCH_NORM:
        case CNN_BIAS:
        case CNN_SCALE:
            return cnn_lower_convolution(net, layer);
        case CNN_POOLING:
            return cnn_lower_pooling(net, layer);
        case CNN_SLICE:
        case CNN_CONCAT:
        case CNN_SHUFFLE_CHANNEL:
            return cnn_lower_movement(net, layer);
        default:
            break;
    }
    if (same_shape(net, layer->top, cnn_bottom(layer, 0))) {
        return -1;
    }
    switch (layer->type) {
        case CNN_RELU:
        case CNN_RELU6:
            return lower_rectifier(net, layer);
        case CNN_LOG_SOFTMAX:
            return lower_log_softmax(net, layer);
        case CNN_ELTWISE:
            return lower_eltwise(net, layer);
        case CNN_SCALE_BY_TENSOR:
            return lower_scale(net, layer);
        default:
            return lower_lookup(net, layer);
    }
}
