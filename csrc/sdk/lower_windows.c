/* Lowering to steps of layers with windows over an image: sums of products, and pooling. */
#include <stdlib.h>

#include "../common/fixed.h"
#include "net.h"

/* The hardware's maximum side of a window, stride and dilation. */
enum { KERNEL = 16, STRIDE = 6, DILATION = 6 };

int cnn_windows(cnn_net *net, const cnn_tensor *image, const int32_t *own, cnn_axis *axes) {
    const int32_t sizes[] = {image->height, image->width};
    for (int i = 0; i < 2; i++) {
        int32_t kernel = own[i], stride = own[2 + i], dilation = own[8 + i];
        int64_t before = own[4 + 2 * i], after = own[5 + 2 * i];
        if (kernel < 1 || kernel > KERNEL || stride < 1 || stride > STRIDE || dilation < 1 ||
            dilation > DILATION || before < 0 || before > UINT16_MAX || after < -UINT16_MAX ||
            after > UINT16_MAX) {
            return cnn_deny(net,
                            "layer %lu has kernel %ld, stride %ld, dilation %ld, pads %lld and "
                            "%lld; at most %d, %d, %d and %d are possible",
                            (unsigned long)net->layer, (long)kernel, (long)stride, (long)dilation,
                            (long long)before, (long long)after, KERNEL, STRIDE, DILATION,
                            UINT16_MAX);
        }
        int64_t range = sizes[i] + before + after - (int64_t)dilation * (kernel - 1) - 1;
        if (range < 0 || range / stride >= UINT16_MAX) {
            return cnn_deny(
                net, "layer %lu has no window in its padded image, or more than 65535 on an axis",
                (unsigned long)net->layer);
        }
        int32_t out = (int32_t)(range / stride + 1);
        axes[i] = (cnn_axis){sizes[i], out, kernel, stride, dilation, (int32_t)before};
    }
    return 0;
}

static int64_t fraction(const cnn_array *array, uint32_t channel) {
    cnn_cursor from = {array->frac, array->fracs > 1 ? (size_t)4 * channel : 0,
                       (size_t)4 * array->fracs, 0};
    return cnn_i32(&from);
}

static int64_t integer(const cnn_net *net, const cnn_array *array, uint32_t index) {
    const uint8_t *at = array->data + (size_t)index * (size_t)net->element;
    return net->bits == 8 ? qn_wrap8(at[0]) : qn_wrap16(at[0] | at[1] << 8);
}

static int has_channels(cnn_net *net, const cnn_array *array, uint32_t channels) {
    int fits = array->fracs == 1 || array->fracs == channels;
    for (uint32_t i = 0; fits && i < array->fracs; i++) {
        int64_t frac = fraction(array, i);
        fits = frac >= -CNN_FRAC && frac <= CNN_FRAC;
    }
    return fits ? 0
                : cnn_deny(net, "layer %lu has %lu fractions; 1 or %lu are possible, of -%d to %d",
                           (unsigned long)net->layer, (unsigned long)array->fracs,
                           (unsigned long)channels, CNN_FRAC, CNN_FRAC);
}

/* Compute for each output channel the start and the shift of its sum. */
static int fill_channels(cnn_net *net, const cnn_layer *layer, uint32_t out, int64_t *pairs) {
    int64_t in = net->tensors[cnn_bottom(layer, 0)].frac, to = net->tensors[layer->top].frac;
    for (uint32_t o = 0; o < out; o++) {
        int64_t products = in + (layer->weight.fracs ? fraction(&layer->weight, o) : 0);
        pairs[2 * o] = 0;
        if (layer->bias.fracs) {
            int64_t shift = products - fraction(&layer->bias, o);
            if (cnn_shift(net, "bias", shift)) {
                return -1;
            }
            pairs[2 * o] = integer(net, &layer->bias, o) * ((int64_t)1 << shift);
        }
        pairs[2 * o + 1] = products - to;
        if (cnn_shift(net, "sum", products - to)) {
            return -1;
        }
    }
    return 0;
}

/* Transpose the file's weights [out][c][y][x] to [out][y][x][c]. A Bias layer has weights of 1. */
static void reorder(const cnn_net *net, const cnn_layer *layer, const qn_npu_conv *p, void *to) {
    uint32_t at = 0;
    int64_t taps = (int64_t)p->kernel_h * p->kernel_w;
    for (int64_t o = 0; o < p->out_c; o++) {
        for (int64_t c = 0; c < p->depth; c++) {
            for (int64_t tap = 0; tap < taps; tap++, at++) {
                int64_t value = layer->weight.count ? integer(net, &layer->weight, at) : 1;
                int64_t index = (o * taps + tap) * p->depth + c;
                if (net->bits == 8) {
                    ((int8_t *)to)[index] = (int8_t)value;
                } else {
                    ((int16_t *)to)[index] = (int16_t)value;
                }
            }
        }
    }
}

/* Check that all weights and biases are present, and append the convolution. */
static int sums(cnn_net *net, const cnn_layer *layer, const qn_npu_conv *p) {
    static const cnn_op ops[] = {{n_convolve_s8_check, n_convolve_s8_ref},
                                 {n_convolve_s16_check, n_convolve_s16_ref},
                                 {n_convolve_s8_check, n_convolve_u8_ref}};
    uint32_t out = (uint32_t)p->out_c;
    int64_t count = (int64_t)p->out_c * p->kernel_h * p->kernel_w * p->depth;
    int64_t weights = count * net->element, bias = p->out_c * (int64_t)(2 * sizeof(int64_t));
    if ((layer->weight.fracs &&
         (layer->weight.count != count || has_channels(net, &layer->weight, out))) ||
        (layer->bias.fracs && (layer->bias.count != out || has_channels(net, &layer->bias, out)))) {
        return cnn_deny(
            net,
            "layer %lu has %lu weights and %lu biases, its shape requires %lld and (if any) %lu",
            (unsigned long)net->layer, (unsigned long)layer->weight.count,
            (unsigned long)layer->bias.count, (long long)count, (unsigned long)out);
    }
    cnn_step step = {.params = {.conv = *p}, .in = {cnn_bottom(layer, 0), cnn_bottom(layer, 0)}};
    step.out = layer->top;
    step.weights = malloc((size_t)weights);
    step.bias = malloc((size_t)bias);
    if (!step.weights || !step.bias || fill_channels(net, layer, out, step.bias)) {
        free(step.weights);
        free(step.bias);
        return cnn_deny(net, "there is no memory for layer %lu", (unsigned long)net->layer);
    }
    reorder(net, layer, p, step.weights);
    int unsigned_input = !net->tensors[step.in[0]].is_signed;
    return cnn_add_step(net, ops[unsigned_input ? 2 : net->bits == 16], step, weights, bias);
}

int cnn_lower_convolution(cnn_net *net, const cnn_layer *layer) {
    const cnn_tensor *image = &net->tensors[cnn_bottom(layer, 0)];
    /* The default kernel, stride, pad and dilation: one whole pixel. */
    int32_t own[10] = {1, 1, 1, 1, 0, 0, 0, 0, 1, 1}, out = image->channels, group = out;
    if (layer->type == CNN_CONVOLUTION) {
        for (int i = 0; i < 10; i++) {
            own[i] = layer->own[1 + i];
        }
        out = layer->own[0];
        group = layer->own[11];
    } else if (layer->type == CNN_INNER_PRODUCT) {
        own[0] = image->height;
        own[1] = image->width;
        out = layer->own[0];
        group = 1;
    }
    cnn_axis axes[2];
    if (cnn_windows(net, image, own, axes)) {
        return -1;
    }
    if (group < 1 || image->channels % group || out < 1 || out > UINT16_MAX || out % group) {
        return cnn_deny(net,
                        "layer %lu makes %ld channels of %ld in %ld groups, no divisor of both",
                        (unsigned long)net->layer, (long)out, (long)image->channels, (long)group);
    }
    if (cnn_is_shape(net, layer->top, out, axes[0].out, axes[1].out)) {
        return -1;
    }
    qn_npu_conv p = {QN_PROFILE_NPU,          axes[0].in,     axes[1].in,       group,
                     image->channels / group, axes[0].out,    axes[1].out,      out,
                     axes[0].kernel,          axes[1].kernel, axes[0].stride,   axes[1].stride,
                     axes[0].before,          axes[1].before, axes[0].dilation, axes[1].dilation};
    return sums(net, layer, &p);
}

int cnn_lower_pooling(cnn_net *net, const cnn_layer *layer) {
    static const cnn_op largest[] = {{n_pool_s8_check, n_max_pool_s8_ref},
                                     {n_pool_s16_check, n_max_pool_s16_ref}};
    static const cnn_op mean[] = {{n_pool_s8_check, n_average_pool_s8_ref},
                                  {n_pool_s16_check, n_average_pool_s16_ref}};
    cnn_step step = {.in = {cnn_bottom(layer, 0), cnn_bottom(layer, 0)}, .out = layer->top};
    const cnn_tensor *image = &net->tensors[step.in[0]];
    int32_t average = layer->own[10], up = net->tensors[step.out].frac - image->frac;
    cnn_axis axes[2];
    if (average < 0 || average > 1) {
        return cnn_deny(net,
                        "layer %lu has pooling method %ld, 0 (maximum) or 1 (average) is required",
                        (unsigned long)net->layer, (long)average);
    }
    if (cnn_windows(net, image, layer->own, axes) || (!average && cnn_same_frac(net, layer)) ||
        cnn_is_shape(net, step.out, image->channels, axes[0].out, axes[1].out)) {
        return -1;
    }
    step.params.pool = (qn_npu_pool){
        .profile = QN_PROFILE_NPU,
        .in_h = axes[0].in,
        .in_w = axes[1].in,
        .channels = image->channels,
        .out_h = axes[0].out,
        .out_w = axes[1].out,
        .kernel_h = axes[0].kernel,
        .kernel_w = axes[1].kernel,
        .stride_h = axes[0].stride,
        .stride_w = axes[1].stride,
        .pad_n = axes[0].before,
        .pad_w = axes[1].before,
        .pad_s = layer->own[5],
        .dilation_h = axes[0].dilation,
        .dilation_w = axes[1].dilation,
        .hw_aligned = 1,
        .up = up > 0 ? up : 0,
        .down = up < 0 ? -up : 0,
    };
    return cnn_add_step(net, (average ? mean : largest)[net->bits == 16], step, 0, 0);
}
