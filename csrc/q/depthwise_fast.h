/* Depthwise convolutions on the strips of gemm/. Included by depthwise_<isa>.c after gemm/strips.h
 * and stage_q7_<isa>.h. */
#ifndef QN_Q_DEPTHWISE_FAST_H
#define QN_Q_DEPTHWISE_FAST_H

#include "depthwise.h"

static strips_shape shape_of(const qn_conv *p) {
    return (strips_shape){
        .in_h = p->dim_im_in_y,
        .in_w = p->dim_im_in_x,
        .channels = p->ch_im_in,
        .out_h = p->dim_im_out_y,
        .out_w = p->dim_im_out_x,
        .kernel_h = p->dim_kernel_y,
        .kernel_w = p->dim_kernel_x,
        .stride_h = p->stride_y,
        .stride_w = p->stride_x,
        .pad_n = p->padding_y,
        .pad_w = p->padding_x,
        .dilation_h = 1,
        .dilation_w = 1,
    };
}

static int64_t depthwise_scratch(const qn_conv *p) {
    strips_shape shape = shape_of(p);
    int64_t bytes = strips_bytes(&shape);
    return bytes < 0 ? QN_NOT_TAKEN : bytes;
}

static int64_t depthwise_packed(const qn_conv *p) {
    strips_shape shape = shape_of(p);
    return strips_packed_bytes(&shape);
}

/* A convolution's filters as strips_pack() asks for them. */
typedef struct filters {
    const qn_conv *p;
    const int8_t *weights, *bias;
} filters;

static int32_t start_of(const void *context, int64_t c) {
    const filters *f = context;
    int32_t round_term = qn_round_term(f->p->profile, f->p->out_shift);
    return qn_wrap32(qn_acc_start(f->bias[c], f->p->bias_shift, round_term));
}

static int32_t weight_of(const void *context, int64_t c, int64_t ky, int64_t kx) {
    const filters *f = context;
    return f->weights[(ky * f->p->dim_kernel_x + kx) * f->p->ch_im_in + c];
}

static void depthwise_pack(const qn_conv *p, const int8_t *weights, const int8_t *bias,
                           void *packed) {
    strips_shape shape = shape_of(p);
    filters f = {p, weights, bias};
    strips_filters of = {&f, start_of, weight_of};
    strips_pack(&shape, &of, packed);
}

static int depthwise_run(const qn_conv *p, const qn_buffers *b) {
    strips_shape shape = shape_of(p);
    stage last = stage_of(p->out_shift, p->relu);
    strips_run(&shape, b->in[0], b->scratch, b->packed, b->out, &last);
    return QN_OK;
}

int ROW()(const void *params, const qn_buffers *b) { return depthwise_run(params, b); }

int64_t ROW(_strips)(const void *params) { return depthwise_scratch(params); }

int64_t ROW(_packed)(const void *params) { return depthwise_packed(params); }

void ROW(_pack)(const void *params, const void *weights, const void *bias, void *packed) {
    depthwise_pack(params, weights, bias, packed);
}

#endif
