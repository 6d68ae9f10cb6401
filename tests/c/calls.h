/* Parameters of calls at random, of every op that tests/c/rows.c knows. */
#ifndef CALLS_H
#define CALLS_H

#include "chance.h"

#include <string.h>

#include "qn.h"

enum { TRIES = 2000, MOST_WORK = 300000 };

typedef union params {
    int32_t profile;
    qn_conv conv;
    qn_fc fc;
    qn_pool pool;
    qn_vector vector;
    qn_mult mult;
    qn_offset offset;
    qn_s_conv s_conv;
    qn_s_depthwise s_depthwise;
    qn_s_fc s_fc;
    qn_s_transpose_conv s_transpose_conv;
    qn_s_pool s_pool;
    qn_s_add s_add;
    qn_s_mul s_mul;
    qn_npu_conv npu_conv;
    qn_npu_pool npu_pool;
    qn_npu_each npu_each;
    qn_npu_add npu_add;
} params;

/* Draws parameters; returns the products or cells of the call. */
typedef int64_t drawn(const qn_op *op, params *p);

static int is_of_16_bits(const qn_op *op) { return !strcmp(op->type, "s16"); }

/* Shifts whose outputs are no extremes, or any: bias wraps around. */
static void random_shifts(int32_t *bias, int32_t *out) {
    const int any = one_in(4);
    *bias = between(0, any ? 31 : 12);
    *out = between(0, any ? 31 : 14);
}

static int64_t draw_conv(const qn_op *op, params *all) {
    qn_conv *const p = &all->conv;
    axis y, x;
    const int32_t channels = random_axes(0, &y, &x);
    *p = (qn_conv){.dim_im_in_x = x.in,
                   .dim_im_in_y = y.in,
                   .ch_im_in = strcmp(op->op, "convolve_rgb") ? channels : 3,
                   .ch_im_out = random_channels(),
                   .dim_kernel_x = x.kernel,
                   .dim_kernel_y = y.kernel,
                   .padding_x = x.pad,
                   .padding_y = y.pad,
                   .stride_x = x.stride,
                   .stride_y = y.stride,
                   .dim_im_out_x = x.out,
                   .dim_im_out_y = y.out};
    random_shifts(&p->bias_shift, &p->out_shift);
    return (int64_t)x.out * y.out * p->ch_im_out * p->ch_im_in * x.kernel * y.kernel;
}

static int64_t draw_fc(const qn_op *op, params *all) {
    qn_fc *const p = &all->fc;
    (void)op;
    *p = (qn_fc){.dim_vec = between(1, 150), .num_of_rows = between(1, 150)};
    random_shifts(&p->bias_shift, &p->out_shift);
    return (int64_t)p->dim_vec * p->num_of_rows;
}

static int64_t draw_pool(const qn_op *op, params *all) {
    axis y, x;
    (void)op;
    const int32_t channels = random_axes(0, &y, &x);
    all->pool = (qn_pool){.dim_im_in_x = x.in,
                          .dim_im_in_y = y.in,
                          .ch_im_in = channels,
                          .dim_kernel_x = x.kernel,
                          .dim_kernel_y = y.kernel,
                          .padding_x = x.pad,
                          .padding_y = y.pad,
                          .stride_x = x.stride,
                          .stride_y = y.stride,
                          .dim_im_out_x = x.out,
                          .dim_im_out_y = y.out,
                          .out_lshift = one_in(2) ? 0 : between(0, 31)};
    return (int64_t)x.out * y.out * channels * x.kernel * y.kernel;
}

/* Draws arguments of all functions that have lengths alone. */
static int32_t random_length(void) { return one_in(3) ? between(0, 2500) : between(0, 70); }

static int64_t draw_vector(const qn_op *op, params *all) {
    (void)op;
    return all->vector.length = random_length();
}

static int64_t draw_mult(const qn_op *op, params *all) {
    (void)op;
    all->mult.out_shift = between(0, 31);
    return all->mult.length = random_length();
}

static int64_t draw_offset(const qn_op *op, params *all) {
    const int32_t most = strstr(op->type, "q15") ? INT16_MAX : INT8_MAX;
    all->offset.offset = between(-most - 1, most);
    return all->offset.length = random_length();
}

/* ---- the s8 and s16 API ---- */

/* The range of outputs: some land inside, some are clamped. */
static void random_range(const qn_op *op, int32_t *least, int32_t *most) {
    const int32_t end = is_of_16_bits(op) ? INT16_MAX : INT8_MAX;
    const int narrow = one_in(4);
    *least = narrow ? between(-end - 1, end) : -end - 1;
    *most = narrow ? between(*least, end) : end;
}

static int32_t random_input_offset(void) { return between(-127, 128); }
static int32_t random_output_offset(void) {
    return between(0, 7) ? between(-128, 127) : one_in(2) ? 128 : 1 << 30;
}

static int64_t draw_s_conv(const qn_op *op, params *all) {
    qn_s_conv *const p = &all->s_conv;
    const int32_t groups = is_of_16_bits(op) || between(0, 3) ? 1 : between(2, 3);
    axis y, x;
    const int32_t channels = random_axes(1, &y, &x);
    *p = (qn_s_conv){.batches = between(1, 2),
                     .input_h = y.in,
                     .input_w = x.in,
                     .filter_h = y.kernel,
                     .filter_w = x.kernel,
                     .filter_c = channels,
                     .output_h = y.out,
                     .output_w = x.out,
                     .output_c = groups * random_channels(),
                     .stride_h = y.stride,
                     .stride_w = x.stride,
                     .pad_h = y.pad,
                     .pad_w = x.pad,
                     .dilation_h = y.dilation,
                     .dilation_w = x.dilation,
                     .input_offset = random_input_offset(),
                     .output_offset = random_output_offset(),
                     .bias_is_int32 = is_of_16_bits(op) && one_in(3),
                     .kernel = QN_S_WRAPPER};
    p->input_c = groups * p->filter_c;
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batches * x.out * y.out * p->output_c * p->filter_c * x.kernel * y.kernel;
}

static int64_t draw_s_depthwise(const qn_op *op, params *all) {
    qn_s_depthwise *const p = &all->s_depthwise;
    axis y, x;
    const int32_t channels = random_axes(1, &y, &x);
    *p = (qn_s_depthwise){.batches = between(1, 2),
                          .input_h = y.in,
                          .input_w = x.in,
                          .input_c = channels,
                          .filter_h = y.kernel,
                          .filter_w = x.kernel,
                          .ch_mult = between(0, 3) ? 1
                                     : one_in(4)   ? 17
                                                   : between(2, 3),
                          .output_h = y.out,
                          .output_w = x.out,
                          .stride_h = y.stride,
                          .stride_w = x.stride,
                          .pad_h = y.pad,
                          .pad_w = x.pad,
                          .dilation_h = y.dilation,
                          .dilation_w = x.dilation,
                          .input_offset = random_input_offset(),
                          .output_offset = random_output_offset(),
                          .kernel = QN_S_WRAPPER};
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batches * x.out * y.out * p->input_c * p->ch_mult * x.kernel * y.kernel;
}

/* An input and a window of a transposed convolution, and the output that they make. */
static axis random_up(void) {
    axis a = {
        .in = between(1, 8), .kernel = between(1, 5), .stride = between(1, one_in(4) ? 7 : 3)};
    a.pad = between(0, a.kernel - 1);
    const int32_t fits = (a.in - 1) * a.stride + a.kernel - a.pad - between(0, a.pad);
    a.out = fits > 1 ? fits : 1;
    return a;
}

static int64_t draw_s_transpose_conv(const qn_op *op, params *all) {
    qn_s_transpose_conv *const p = &all->s_transpose_conv;
    const axis y = random_up(), x = random_up();
    *p = (qn_s_transpose_conv){.batches = between(1, 2),
                               .input_h = y.in,
                               .input_w = x.in,
                               .input_c = random_channels(),
                               .filter_h = y.kernel,
                               .filter_w = x.kernel,
                               .output_h = y.out,
                               .output_w = x.out,
                               .output_c = random_channels(),
                               .stride_h = y.stride,
                               .stride_w = x.stride,
                               .pad_h = y.pad,
                               .pad_w = x.pad,
                               .dilation_h = 1,
                               .dilation_w = 1,
                               .input_offset = random_input_offset(),
                               .output_offset = random_output_offset(),
                               .kernel = QN_S_WRAPPER};
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batches * x.in * y.in * p->input_c * p->output_c * x.kernel * y.kernel;
}

static int64_t draw_s_fc(const qn_op *op, params *all) {
    qn_s_fc *const p = &all->s_fc;
    *p = (qn_s_fc){.batches = between(1, one_in(2) ? 3 : 50),
                   .input_c = between(1, one_in(8) ? 1500 : 150),
                   .output_c = between(1, 150),
                   .input_offset = random_input_offset(),
                   .output_offset = random_output_offset(),
                   .multiplier = (int32_t)(random_bits() >> 1),
                   .shift = one_in(8) ? between(-31, 3) : between(-14, -4),
                   .is_per_channel = strstr(op->op, "per_channel") != NULL};
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batches * p->input_c * p->output_c;
}

#include "calls_more.h"

#endif
