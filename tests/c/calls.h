/* Calls of convolutions and fully connected layers at random: shapes, and values that hurt. */
#ifndef CALLS_H
#define CALLS_H

#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qn.h"

enum { TRIES = 100000, MOST_MACS = 300000 };

static const uint32_t SEED = 20240229;
static uint32_t state;

static uint32_t random_bits(void) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static int32_t between(int32_t low, int32_t high) {
    return low + (int32_t)(random_bits() % (uint32_t)(high - low + 1));
}

/* Which ops are known here; all but those of s8 can rectify. */
static int takes_relu(const qn_op *op) {
    return !strcmp(op->params, "qn_conv") || !strcmp(op->params, "qn_fc");
}
static int is_known(const qn_op *op) {
    int s8 = !strcmp(op->params, "qn_s_conv") || !strcmp(op->params, "qn_s_depthwise") ||
             !strcmp(op->params, "qn_s_fc") || !strcmp(op->params, "qn_s_transpose_conv");
    return takes_relu(op) || (s8 && (!strcmp(op->type, "s8") || !strcmp(op->type, "s4")));
}

typedef union params {
    int32_t profile;
    qn_conv conv;
    qn_fc fc;
    qn_s_conv s_conv;
    qn_s_depthwise s_depthwise;
    qn_s_fc s_fc;
    qn_s_transpose_conv s_transpose_conv;
} params;

/* An output that a window of `kernel` taps reaches, and an input that is about as large. */
static void random_axis(int32_t *in, int32_t *kernel, int32_t *padding, int32_t *stride,
                        int32_t *out) {
    int one = between(0, 3) == 0; /* 1 x 1 */
    *kernel = one ? 1 : between(1, 5);
    *padding = one ? 0 : between(0, *kernel);
    *stride = one && between(0, 1) ? 1 : between(1, 3);
    *out = between(0, 4) ? between(1, 20) : 1;
    int32_t fits = (*out - 1) * *stride + *kernel - 2 * *padding + between(-2, 2);
    *in = fits > 1 ? fits : 1;
}

static int32_t random_channels(void) {
    static const int32_t channels[] = {1,  2,  3,  4,  7,  8,  12, 16, 17, 18,  20,
                                       24, 31, 32, 34, 48, 64, 64, 66, 80, 128, 130};
    return channels[between(0, sizeof channels / sizeof channels[0] - 1)];
}

/* Shifts whose outputs are no extremes, or any: bias wraps around. */
static void random_shifts(int32_t *bias, int32_t *out) {
    int any = between(0, 3) == 0;
    *bias = between(0, any ? 31 : 12);
    *out = between(0, any ? 31 : 14);
}

static void random_conv(qn_conv *p, int rgb) {
    random_axis(&p->dim_im_in_x, &p->dim_kernel_x, &p->padding_x, &p->stride_x, &p->dim_im_out_x);
    random_axis(&p->dim_im_in_y, &p->dim_kernel_y, &p->padding_y, &p->stride_y, &p->dim_im_out_y);
    if (between(0, 1)) {
        p->dim_im_in_y = p->dim_im_in_x;
        p->dim_kernel_y = p->dim_kernel_x;
        p->padding_y = p->padding_x;
        p->stride_y = p->stride_x;
        p->dim_im_out_y = p->dim_im_out_x;
    }
    p->ch_im_in = rgb ? 3 : random_channels();
    p->ch_im_out = random_channels();
    random_shifts(&p->bias_shift, &p->out_shift);
}

static void random_fc(qn_fc *p) {
    p->dim_vec = between(1, 150);
    p->num_of_rows = between(1, 150);
    random_shifts(&p->bias_shift, &p->out_shift);
}

/* The offsets and the range of outputs of s8: some sums land inside, some are clamped. */
static void random_range(int32_t *in, int32_t *out, int32_t *least, int32_t *most) {
    int narrow = between(0, 3) == 0;
    *in = between(-127, 128);
    *out = between(0, 7) ? between(-128, 127) : between(0, 1) ? 128 : 1 << 30;
    *least = narrow ? between(-128, 127) : -128;
    *most = narrow ? between(*least, 127) : 127;
}

/* Windows of one pixel of whole blocks, which rows may read from the image itself, unless they
 * leave it or skip some of it. */
static void random_point(qn_s_conv *p) {
    p->filter_h = p->filter_w = 1;
    p->pad_h = p->pad_w = 0;
    p->input_c = p->filter_c = 64 * between(1, 2);
    int skips = between(0, 1);
    p->input_h = skips ? (p->output_h - 1) * p->stride_h + 1 : p->output_h;
    p->input_w = skips ? (p->output_w - 1) * p->stride_w + 1 : p->output_w;
}

static void random_s_conv(qn_s_conv *p) {
    int32_t groups = between(0, 3) ? 1 : between(2, 3), dilated = between(0, 2) == 0;
    random_axis(&p->input_w, &p->filter_w, &p->pad_w, &p->stride_w, &p->output_w);
    random_axis(&p->input_h, &p->filter_h, &p->pad_h, &p->stride_h, &p->output_h);
    p->dilation_w = dilated ? between(1, 3) : 1;
    p->dilation_h = dilated ? between(1, 4) : 1;
    p->batches = between(1, 2);
    p->kernel = QN_S_WRAPPER;
    p->filter_c = random_channels();
    p->input_c = groups * p->filter_c;
    p->output_c = groups * random_channels();
    if (between(0, 7) == 0) {
        random_point(p);
    }
    random_range(&p->input_offset, &p->output_offset, &p->act_min, &p->act_max);
}

static void random_s_depthwise(qn_s_depthwise *p) {
    int32_t dilated = between(0, 2) == 0;
    random_axis(&p->input_w, &p->filter_w, &p->pad_w, &p->stride_w, &p->output_w);
    random_axis(&p->input_h, &p->filter_h, &p->pad_h, &p->stride_h, &p->output_h);
    p->dilation_w = dilated ? between(1, 3) : 1;
    p->dilation_h = dilated ? between(1, 4) : 1;
    p->batches = between(1, 2);
    p->kernel = QN_S_WRAPPER;
    p->input_c = random_channels();
    p->ch_mult = between(0, 3) ? 1 : between(2, 3);
    random_range(&p->input_offset, &p->output_offset, &p->act_min, &p->act_max);
}

/* An input and a window of a transposed convolution, and the output that they make. */
static void random_up(int32_t *in, int32_t *kernel, int32_t *padding, int32_t *stride,
                      int32_t *out) {
    *in = between(1, 8);
    *kernel = between(1, 5);
    *stride = between(1, 3);
    *padding = between(0, *kernel - 1);
    const int32_t fits = (*in - 1) * *stride + *kernel - *padding - between(0, *padding);
    *out = fits > 1 ? fits : 1;
}

static void random_s_transpose_conv(qn_s_transpose_conv *p) {
    random_up(&p->input_w, &p->filter_w, &p->pad_w, &p->stride_w, &p->output_w);
    random_up(&p->input_h, &p->filter_h, &p->pad_h, &p->stride_h, &p->output_h);
    p->dilation_w = p->dilation_h = 1;
    p->batches = between(1, 2);
    p->kernel = QN_S_WRAPPER;
    p->input_c = random_channels();
    p->output_c = random_channels();
    random_range(&p->input_offset, &p->output_offset, &p->act_min, &p->act_max);
}

static void random_s_fc(qn_s_fc *p, int per_channel) {
    p->batches = between(1, 50);
    p->input_c = between(1, 150);
    p->output_c = between(1, 150);
    p->multiplier = (int32_t)(random_bits() >> 1);
    p->shift = between(-14, -4);
    p->is_per_channel = per_channel;
    random_range(&p->input_offset, &p->output_offset, &p->act_min, &p->act_max);
}

static int64_t macs(const qn_op *op, const params *p) {
    if (!strcmp(op->params, "qn_fc")) {
        return (int64_t)p->fc.dim_vec * p->fc.num_of_rows;
    }
    if (!strcmp(op->params, "qn_s_fc")) {
        return (int64_t)p->s_fc.batches * p->s_fc.input_c * p->s_fc.output_c;
    }
    if (!strcmp(op->params, "qn_s_depthwise")) {
        const qn_s_depthwise *c = &p->s_depthwise;
        return (int64_t)c->batches * c->output_h * c->output_w * c->input_c * c->ch_mult *
               c->filter_h * c->filter_w;
    }
    if (!strcmp(op->params, "qn_s_transpose_conv")) {
        const qn_s_transpose_conv *c = &p->s_transpose_conv;
        return (int64_t)c->batches * c->input_h * c->input_w * c->input_c * c->output_c *
               c->filter_h * c->filter_w;
    }
    if (!strcmp(op->params, "qn_s_conv")) {
        const qn_s_conv *c = &p->s_conv;
        return (int64_t)c->batches * c->output_h * c->output_w * c->output_c * c->filter_c *
               c->filter_h * c->filter_w;
    }
    const qn_conv *c = &p->conv;
    return (int64_t)c->dim_im_out_x * c->dim_im_out_y * c->ch_im_out * c->ch_im_in *
           c->dim_kernel_x * c->dim_kernel_y;
}

/* Parameters of a call that the contract allows and the row takes; 0 if none was found. */
static int random_call(const qn_kernel *row, int32_t profile, int relu, params *p,
                       qn_sizes *sizes) {
    const qn_op *op = row->op;
    char why[QN_WHY];
    for (int t = 0; t < TRIES; t++) {
        memset(p, 0, sizeof *p);
        memset(sizes, 0, sizeof *sizes);
        if (!strcmp(op->params, "qn_fc")) {
            random_fc(&p->fc);
            p->fc.relu = relu;
        } else if (!strcmp(op->params, "qn_conv")) {
            random_conv(&p->conv, !strcmp(op->op, "convolve_rgb"));
            p->conv.relu = relu;
        } else if (!strcmp(op->params, "qn_s_fc")) {
            random_s_fc(&p->s_fc, strstr(op->op, "per_channel") != NULL);
        } else if (!strcmp(op->params, "qn_s_depthwise")) {
            random_s_depthwise(&p->s_depthwise);
        } else if (!strcmp(op->params, "qn_s_transpose_conv")) {
            random_s_transpose_conv(&p->s_transpose_conv);
        } else {
            random_s_conv(&p->s_conv);
        }
        p->profile = profile;
        if (macs(op, p) <= MOST_MACS && op->check(p, sizes, why) == QN_OK &&
            row->scratch(p) != QN_NOT_TAKEN) {
            return 1;
        }
    }
    return 0;
}

/* Random, all lowest, all highest, or one value among zeros, of elements `width` bytes wide. */
static void *random_values(int64_t bytes, int width) {
    uint8_t *values = allocate(bytes);
    int kind = between(0, 5);
    for (int64_t i = 0; i < bytes; i++) {
        int top = i % width == width - 1;
        values[i] = kind == 0   ? (top ? 0x80 : 0x00)
                    : kind == 1 ? (top ? 0x7f : 0xff)
                    : kind == 2 ? 0
                                : (uint8_t)random_bits();
    }
    if (kind == 2 && bytes > 0) {
        values[between(0, (int32_t)bytes - 1)] = 0x7f;
    }
    return values;
}

/* The array `bias`; of s8: as quantized networks have it, or anything. */
static void *random_bias(const qn_op *op, int64_t bytes, int width) {
    const int rows = strstr(op->op, "conv") || strstr(op->op, "per_channel") ? 3 : 1;
    if (takes_relu(op)) {
        return random_values(bytes, width);
    }
    int32_t *values = random_values(bytes, 4);
    const int64_t channels = bytes / 4 / rows;
    const int wild = between(0, 3) == 0;
    for (int64_t o = 0; o < channels && !wild; o++) {
        values[o] = between(-20000, 20000);
        if (rows == 3) {
            values[channels + o] = (1 << 30) + between(0, (1 << 30) - 1);
            values[2 * channels + o] = between(-14, -4);
        }
    }
    return values;
}

#endif
