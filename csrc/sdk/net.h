/* A packed network in memory: tensors with their addresses, and steps over kernels.
 *
 * docs/npu_pack.md defines the format. No value of a file is trusted. Every count and length is
 * checked against the bytes that are left, and every step against the contract of its kernel. */
#ifndef CNN_NET_H
#define CNN_NET_H

#include <stddef.h>

#include "../wuqi/kernels.h"

enum { CNN_VERSION = 1, CNN_HEADER_BYTES = 32, CNN_MOST = 65535, CNN_FRAC = 1024, CNN_OWN = 13 };
/* The maximum bytes of all features, as a power of two; a smaller one makes fuzzing faster. */
#ifndef CNN_FEATURE_BITS
#define CNN_FEATURE_BITS 28
#endif
enum { CNN_FEATURE_BYTES = 1 << CNN_FEATURE_BITS, CNN_ARENA_BYTES = CNN_FEATURE_BYTES * 4 };

/* Numbers of the layer types in a file. */
enum {
    CNN_INPUT,
    CNN_SIGMOID,
    CNN_RELU,
    CNN_RELU6,
    CNN_TANH,
    CNN_INNER_PRODUCT,
    CNN_CONVOLUTION,
    CNN_POOLING,
    CNN_BATCH_NORM,
    CNN_BIAS,
    CNN_SCALE,
    CNN_SLICE,
    CNN_CONCAT,
    CNN_ELTWISE,
    CNN_LOG_SOFTMAX,
    CNN_SHUFFLE_CHANNEL,
    CNN_SCALE_BY_TENSOR,
    CNN_TYPES
};

/* Bytes that are read field by field. After the end of the bytes, every field is 0. */
typedef struct cnn_cursor {
    const uint8_t *data;
    size_t at, size;
    int ended;
} cnn_cursor;

uint32_t cnn_u8(cnn_cursor *from);
uint32_t cnn_u32(cnn_cursor *from);
int32_t cnn_i32(cnn_cursor *from);
const uint8_t *cnn_bytes(cnn_cursor *from, uint64_t count);
uint32_t cnn_checksum(const uint8_t *data, size_t size);

/* Channels, rows, columns, and the offset in the arena. The order is channels-last. */
typedef struct cnn_tensor {
    int32_t channels, height, width, frac;
    int is_signed, is_read;
    int64_t at, bytes;
} cnn_tensor;

typedef struct cnn_step {
    int (*run)(const void *, const qn_buffers *);
    union {
        qn_npu_conv conv;
        qn_npu_pool pool;
        qn_npu_each each;
        qn_npu_add add;
        qn_npu_pixels pixels;
        qn_npu_channels channels;
    } params;
    uint32_t in[QN_INPUTS], out; /* indices of tensors */
    void *weights, *bias;        /* owned by the step */
} cnn_step;

/* A network. Tensors 0..given-1 are in the file, and 0..made-1 of them have been computed so far.
 * The tensors after them are between two steps of one layer. */
typedef struct cnn_net {
    uint32_t id;
    struct cnn_net *next;
    int32_t bits, element; /* bytes */
    uint32_t given, made, tensor_count, step_count, tensor_capacity, step_capacity;
    cnn_tensor *tensors;
    cnn_step *steps;
    uint8_t *arena, *input, *output; /* input and output: rows of 32 bytes */
    int64_t arena_bytes;
    uint32_t layer; /* the layer being read, for errors */
    char *why;      /* [QN_WHY] */
} cnn_net;

/* Integers of a layer, with one fraction or one for each channel. Their addresses are unaligned. */
typedef struct cnn_array {
    uint32_t fracs, count;
    const uint8_t *frac, *data;
} cnn_array;

typedef struct cnn_layer {
    uint32_t type, reads, makes, top; /* its outputs are top, top + 1, ... */
    const uint8_t *bottoms;           /* [reads] of 4 bytes */
    int32_t own[CNN_OWN];
    cnn_array weight, bias;
    const uint8_t *table;
} cnn_layer;

/* Geometry along one axis. */
typedef struct cnn_axis {
    int32_t in, out, kernel, stride, dilation, before;
} cnn_axis;

/* The functions of an op of one type. */
typedef struct cnn_op {
    int (*check)(const void *, qn_sizes *, char *);
    int (*run)(const void *, const qn_buffers *);
} cnn_op;

/* The functions of each file. A file calls only files listed above it. */

/* ---- net.c ---- */
/* Store an error sentence unless there is one already. Return -1. */
int cnn_deny(cnn_net *net, const char *format, ...);
void *cnn_grow(void *array, uint32_t count, uint32_t *capacity, size_t element);
int64_t cnn_new_tensor(cnn_net *net, cnn_tensor tensor);
/* Append a step over these tensors. The contract must agree with their sizes and with the sizes of
 * step->weights and step->bias. The net owns both arrays from now on, even after an error. */
int cnn_add_step(cnn_net *net, cnn_op op, cnn_step step, int64_t weights_bytes, int64_t bias_bytes);
void cnn_free(cnn_net *net);
/* Compute all steps in the arena. */
void cnn_compute(cnn_net *net);
int cnn_is_output(const cnn_net *net, uint32_t tensor);
int64_t cnn_size(const cnn_net *net, const cnn_tensor *tensor, int64_t align);
/* Copy rows of multiples of `align` bytes (1: without gaps) to the input tensor, or from all
 * outputs. */
void cnn_put_input(cnn_net *net, const uint8_t *from, int64_t align);
void cnn_get_outputs(cnn_net *net, uint8_t *to, int64_t align);

/* ---- layer.c ---- */
uint32_t cnn_bottom(const cnn_layer *layer, uint32_t index);
int cnn_is_shape(cnn_net *net, uint32_t tensor, int64_t channels, int64_t height, int64_t width);
int cnn_shift(cnn_net *net, const char *what, int64_t bits);
int cnn_same_frac(cnn_net *net, const cnn_layer *layer);

/* ---- lower_windows.c, lower_movement.c ---- */
/* Compute the geometry of both axes. own: kernel, stride (2 each), pad (4), dilation (2), as in the
 * file. */
int cnn_windows(cnn_net *net, const cnn_tensor *image, const int32_t *own, cnn_axis *axes);
int cnn_lower_convolution(cnn_net *net, const cnn_layer *layer);
int cnn_lower_pooling(cnn_net *net, const cnn_layer *layer);
int cnn_lower_movement(cnn_net *net, const cnn_layer *layer);
/* Lower the sum of more than two tensors of one shape. */
int cnn_lower_sum(cnn_net *net, const cnn_layer *layer, int32_t shift);

/* ---- lower.c ---- */
int cnn_lower(cnn_net *net, const cnn_layer *layer);

/* ---- read.c ---- */
/* Build the net from a whole file. Return 0, or -1 with a sentence in net->why. */
int cnn_read(cnn_net *net, const uint8_t *data, size_t size);

#endif
