/* Reader of a pack: header, checksum, tensors, layers. */
#include <string.h>

#include "net.h"

/* True if the text is UTF-8: whole characters, each in its shortest form, none of them a
 * surrogate. */
static int is_utf8(const uint8_t *text, uint32_t length) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (uint32_t i = 0; i < length;) {
        uint32_t code = text[i++], more = 0;
        if (code >= 0x80) {
            more = code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
            if (code < 0xc0 || code >= 0xf8 || more > length - i) {
                return 0;
            }
            code &= 0x3fu >> more;
        }
        for (uint32_t end = i + more; i < end; i++) {
            if ((text[i] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (text[i] & 0x3f);
        }
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
            return 0;
        }
    }
    return 1;
}

static int skip_name(cnn_net *net, cnn_cursor *from) {
    uint32_t length = cnn_u8(from);
    const uint8_t *name = cnn_bytes(from, length);
    if (length == 0 || !name || memchr(name, 0, length) || !is_utf8(name, length)) {
        return cnn_deny(net, "a name is not 1 to 255 bytes of UTF-8 without zeros");
    }
    return 0;
}

static int read_tensor(cnn_net *net, cnn_cursor *from) {
    if (skip_name(net, from)) {
        return -1;
    }
    uint32_t sides[3];
    for (int i = 0; i < 3; i++) {
        sides[i] = cnn_u32(from);
        if (sides[i] < 1 || sides[i] > UINT16_MAX) {
            return cnn_deny(net, "a side of tensor %lu is not 1 to 65535",
                            (unsigned long)net->tensor_count);
        }
    }
    cnn_tensor tensor = {(int32_t)sides[0], (int32_t)sides[1], (int32_t)sides[2], 0, 0, 0, 0, 0};
    tensor.frac = cnn_i32(from);
    uint32_t sign = cnn_u8(from);
    tensor.is_signed = sign == 1;
    if (tensor.frac < -CNN_FRAC || tensor.frac > CNN_FRAC || sign > 1) {
        return cnn_deny(
            net, "tensor %lu has %ld fraction bits and sign %lu, -%d..%d and 0..1 are possible",
            (unsigned long)net->tensor_count, (long)tensor.frac, (unsigned long)sign, CNN_FRAC,
            CNN_FRAC);
    }
    if (!tensor.is_signed && (net->tensor_count != 0 || net->bits != 8)) {
        return cnn_deny(net, "tensor %lu is unsigned, only an input of 8 bits may be",
                        (unsigned long)net->tensor_count);
    }
    return cnn_new_tensor(net, tensor) < 0 ? -1 : 0;
}

static int read_array(cnn_net *net, cnn_cursor *from, cnn_array *array) {
    array->fracs = cnn_u32(from);
    array->frac = cnn_bytes(from, (uint64_t)4 * array->fracs);
    array->count = cnn_u32(from);
    array->data = cnn_bytes(from, (uint64_t)array->count * (uint64_t)net->element);
    if (from->ended || array->fracs == 0 || array->count == 0) {
        return cnn_deny(net, "layer %lu has incomplete or empty weights or biases",
                        (unsigned long)net->layer);
    }
    return 0;
}

/* The file's fields for each layer type. reads: the number of tensors; 255: two or more. bias: the
 * index in own[] of the flag that a bias follows; -1: never, CNN_OWN: always. */
static const struct {
    uint8_t reads, own, has_weights, has_table;
    int8_t bias;
} forms[CNN_TYPES] = {
    [CNN_INPUT] = {0, 0, 0, 0, -1},
    [CNN_SIGMOID] = {1, 0, 0, 1, -1},
    [CNN_RELU] = {1, 1, 0, 0, -1},
    [CNN_RELU6] = {1, 0, 0, 0, -1},
    [CNN_TANH] = {1, 0, 0, 1, -1},
    [CNN_INNER_PRODUCT] = {1, 2, 1, 0, 1},
    [CNN_CONVOLUTION] = {1, 13, 1, 0, 12},
    [CNN_POOLING] = {1, 11, 0, 0, -1},
    [CNN_BATCH_NORM] = {1, 0, 1, 0, CNN_OWN},
    [CNN_BIAS] = {1, 0, 0, 0, CNN_OWN},
    [CNN_SCALE] = {1, 1, 1, 0, 0},
    [CNN_SLICE] = {1, 0, 0, 0, -1},
    [CNN_CONCAT] = {255, 0, 0, 0, -1},
    [CNN_ELTWISE] = {255, 0, 0, 0, -1},
    [CNN_LOG_SOFTMAX] = {1, 0, 0, 1, -1},
    [CNN_SHUFFLE_CHANNEL] = {1, 1, 0, 0, -1},
    [CNN_SCALE_BY_TENSOR] = {2, 0, 0, 0, -1},
};

static uint64_t table_bytes(const cnn_net *net, uint32_t type) {
    if (type == CNN_LOG_SOFTMAX) {
        return net->bits == 8 ? 64 : 2 * 40960;
    }
    return net->bits == 8 ? 1 << 8 : 2 << 16;
}

static int read_tail(cnn_net *net, cnn_cursor *from, cnn_layer *layer) {
    for (int i = 0; i < forms[layer->type].own; i++) {
        layer->own[i] = cnn_i32(from);
    }
    if (forms[layer->type].has_table) {
        layer->table = cnn_bytes(from, table_bytes(net, layer->type));
    }
    if (from->ended) {
        return cnn_deny(net, "the file ends within layer %lu", (unsigned long)net->layer);
    }
    if (forms[layer->type].has_weights && read_array(net, from, &layer->weight)) {
        return -1;
    }
    int bias = forms[layer->type].bias;
    if (bias >= 0 && bias < CNN_OWN && (layer->own[bias] < 0 || layer->own[bias] > 1)) {
        return cnn_deny(net, "layer %lu has a bias_term of %ld, 0 or 1 is required",
                        (unsigned long)net->layer, (long)layer->own[bias]);
    }
    int there = bias == CNN_OWN || (bias >= 0 && layer->own[bias]);
    return there ? read_array(net, from, &layer->bias) : 0;
}

/* Check that the tensors that a layer reads are computed, and that its outputs are the next
 * ones. */
static int connect(cnn_net *net, const cnn_layer *layer) {
    uint32_t reads = forms[layer->type].reads;
    if (reads == 255 ? layer->reads < 2 : layer->reads != reads) {
        return cnn_deny(net, "layer %lu reads %lu tensors, its type requires %s%lu",
                        (unsigned long)net->layer, (unsigned long)layer->reads,
                        reads == 255 ? "at least " : "", (unsigned long)(reads == 255 ? 2 : reads));
    }
    if (layer->makes < 1 || (layer->type != CNN_SLICE && layer->makes != 1) ||
        layer->makes > net->given - net->made) {
        return cnn_deny(net, "layer %lu makes %lu tensors, 1 is required, for a slice 1 to %lu",
                        (unsigned long)net->layer, (unsigned long)layer->makes,
                        (unsigned long)(net->given - net->made));
    }
    for (uint32_t i = 0; i < layer->reads; i++) {
        uint32_t bottom = cnn_bottom(layer, i);
        if (bottom >= net->made) {
            return cnn_deny(net, "layer %lu reads tensor %lu before any layer makes it",
                            (unsigned long)net->layer, (unsigned long)bottom);
        }
        int sums = forms[layer->type].has_weights || layer->type == CNN_BIAS;
        if (!net->tensors[bottom].is_signed && !sums) {
            return cnn_deny(net,
                            "layer %lu reads an unsigned tensor, its type requires signed ones",
                            (unsigned long)net->layer);
        }
        net->tensors[bottom].is_read = 1;
    }
    return 0;
}

static int read_layer(cnn_net *net, cnn_cursor *from) {
    cnn_layer layer = {0};
    if (skip_name(net, from)) {
        return -1;
    }
    layer.type = cnn_u8(from);
    layer.reads = cnn_u8(from);
    layer.makes = cnn_u8(from);
    layer.top = net->made;
    layer.bottoms = cnn_bytes(from, (uint64_t)4 * layer.reads);
    if (from->ended || layer.type >= CNN_TYPES || (layer.type == CNN_INPUT) != (net->layer == 0)) {
        return cnn_deny(net, "layer %lu has type %lu, unknown or misplaced, or the file ends in it",
                        (unsigned long)net->layer, (unsigned long)layer.type);
    }
    if (connect(net, &layer) || read_tail(net, from, &layer) || cnn_lower(net, &layer)) {
        return -1;
    }
    net->made += layer.makes;
    return 0;
}

static int read_header(cnn_net *net, cnn_cursor *from, uint32_t *layers) {
    const uint8_t *magic = cnn_bytes(from, 8);
    if (!magic || memcmp(magic, "NPUPACK\x1a", 8) != 0) {
        return cnn_deny(net, "it does not start with the signature of a packed network");
    }
    uint32_t version = cnn_u32(from), header = cnn_u32(from), size = cnn_u32(from);
    uint32_t bits = cnn_u32(from);
    net->given = cnn_u32(from);
    *layers = cnn_u32(from);
    if (from->ended || from->size < CNN_HEADER_BYTES + 4) {
        return cnn_deny(net, "it ends within its header");
    }
    if (version != CNN_VERSION) {
        return cnn_deny(net, "it has version %lu of the format; this library reads %d",
                        (unsigned long)version, CNN_VERSION);
    }
    if (header != CNN_HEADER_BYTES || size != from->size) {
        return cnn_deny(net, "it has %llu bytes, not %lu: it is truncated or altered",
                        (unsigned long long)from->size, (unsigned long)size);
    }
    if (bits != 8 && bits != 16) {
        return cnn_deny(net, "it has %lu bits, not 8 or 16", (unsigned long)bits);
    }
    net->bits = (int32_t)bits;
    net->element = net->bits / 8;
    if (net->given < 2 || net->given > CNN_MOST || *layers < 2 || *layers > CNN_MOST) {
        return cnn_deny(net, "it has %lu tensors and %lu layers, 2 to %d of each are possible",
                        (unsigned long)net->given, (unsigned long)*layers, CNN_MOST);
    }
    return 0;
}

int cnn_read(cnn_net *net, const uint8_t *data, size_t size) {
    cnn_cursor from = {data, 0, size, 0};
    uint32_t layers = 0;
    if (read_header(net, &from, &layers)) {
        return -1;
    }
    cnn_cursor end = {data, size - 4, size, 0};
    if (cnn_u32(&end) != cnn_checksum(data, size - 4)) {
        return cnn_deny(net, "it is damaged: its checksum differs");
    }
    from.size -= 4;
    for (uint32_t i = 0; i < net->given; i++) {
        if (read_tensor(net, &from)) {
            return -1;
        }
    }
    if (net->arena_bytes > CNN_FEATURE_BYTES) {
        return cnn_deny(net, "its features have %lld bytes, more than 2^28",
                        (long long)net->arena_bytes);
    }
    for (; net->layer < layers; net->layer++) {
        if (read_layer(net, &from)) {
            return -1;
        }
    }
    if (from.at != from.size || net->made != net->given) {
        return cnn_deny(net, "it has bytes or tensors that no layer uses");
    }
    return 0;
}
