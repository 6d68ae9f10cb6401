/* The geometry of a convolution as gemm/image.h has it. */
#ifndef QN_NPU_IMAGE_FAST_H
#define QN_NPU_IMAGE_FAST_H

#include "../gemm/image.h"
#include "convolve.h"

static inline image_shape image_of(const qn_npu_conv *p) {
    return (image_shape){
        .in_h = p->in_h,
        .in_w = p->in_w,
        .group = p->group,
        .depth = p->depth,
        .out_h = p->out_h,
        .out_w = p->out_w,
        .out_c = p->out_c,
        .kernel_h = p->kernel_h,
        .kernel_w = p->kernel_w,
        .stride_h = p->stride_h,
        .stride_w = p->stride_w,
        .pad_n = p->pad_n,
        .pad_w = p->pad_w,
        .dilation_h = p->dilation_h,
        .dilation_w = p->dilation_w,
    };
}

static inline gemm_shape group_shape(const qn_npu_conv *p) {
    const image_shape image = image_of(p);
    return shape_of(&image);
}

static inline int64_t padded_bytes(const qn_npu_conv *p) {
    const image_shape image = image_of(p);
    return image_bytes(&image);
}

static inline void pad_group(const qn_npu_conv *p, const input *in, pixel *to) {
    const image_shape image = image_of(p);
    pad_image(&image, in, to);
}

#endif
