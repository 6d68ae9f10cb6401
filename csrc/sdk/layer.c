/* Properties of a layer and its tensors that lowering needs for every type. */
#include "net.h"

uint32_t cnn_bottom(const cnn_layer *layer, uint32_t index) {
    cnn_cursor from = {layer->bottoms, (size_t)4 * index, (size_t)4 * layer->reads, 0};
    return cnn_u32(&from);
}

int cnn_is_shape(cnn_net *net, uint32_t tensor, int64_t channels, int64_t height, int64_t width) {
    const cnn_tensor *has = &net->tensors[tensor];
    if (has->channels != channels || has->height != height || has->width != width) {
        return cnn_deny(net,
                        "layer %lu has a tensor of [%ld, %ld, %ld], [%lld, %lld, %lld] is required",
                        (unsigned long)net->layer, (long)has->channels, (long)has->height,
                        (long)has->width, (long long)channels, (long long)height, (long long)width);
    }
    return 0;
}

int cnn_shift(cnn_net *net, const char *what, int64_t bits) {
    int64_t widest = net->bits == 8 ? 15 : 31;
    if (bits < 0 || bits > widest) {
        return cnn_deny(net, "layer %lu shifts its %s by %lld bits, 0..%lld are possible",
                        (unsigned long)net->layer, what, (long long)bits, (long long)widest);
    }
    return 0;
}

int cnn_same_frac(cnn_net *net, const cnn_layer *layer) {
    int32_t frac = net->tensors[layer->top].frac;
    int same = 1;
    for (uint32_t i = 0; i < layer->reads; i++) {
        same &= net->tensors[cnn_bottom(layer, i)].frac == frac;
    }
    for (uint32_t i = 0; i < layer->makes; i++) {
        same &= net->tensors[layer->top + i].frac == frac;
    }
    return same ? 0
                : cnn_deny(net,
                           "layer %lu has different fractions, all of its tensors must have one",
                           (unsigned long)net->layer);
}
