/* Parameters of the ops; part of the C interface, see qn.h. Every one starts with the profile; the
 * other fields have Arm's names. A square function fills the _x and the _y field with the same
 * value. */
#ifndef QN_PARAMS_H
#define QN_PARAMS_H

#include <stdint.h>

typedef struct qn_conv {
    int32_t profile;
    int32_t dim_im_in_x, dim_im_in_y, ch_im_in, ch_im_out;
    int32_t dim_kernel_x, dim_kernel_y, padding_x, padding_y, stride_x, stride_y;
    int32_t bias_shift, out_shift;
    int32_t dim_im_out_x, dim_im_out_y;
    int32_t relu; /* see qn_kernel.relu */
} qn_conv;

typedef struct qn_fc {
    int32_t profile;
    int32_t dim_vec, num_of_rows, bias_shift, out_shift;
    int32_t relu; /* see qn_kernel.relu */
} qn_fc;

typedef struct qn_mat_mult {
    int32_t profile;
    int32_t ch_im_out, numCol_A, bias_shift, out_shift;
} qn_mat_mult;

typedef struct qn_pool {
    int32_t profile;
    int32_t dim_im_in_x, dim_im_in_y, ch_im_in;
    int32_t dim_kernel_x, dim_kernel_y, padding_x, padding_y, stride_x, stride_y;
    int32_t dim_im_out_x, dim_im_out_y, out_lshift;
} qn_pool;

/* Parameters of the NPU; images [y][x][channel]. */
typedef struct qn_npu_conv {
    int32_t profile;
    int32_t in_h, in_w, group, depth, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_n, pad_w, dilation_h, dilation_w;
} qn_npu_conv;

typedef struct qn_npu_pool {
    int32_t profile;
    int32_t in_h, in_w, channels, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_n, pad_w, pad_s, dilation_h, dilation_w;
    int32_t hw_aligned, up, down;
} qn_npu_pool;

typedef struct qn_npu_each {
    int32_t profile;
    int32_t length, slope, high;
} qn_npu_each;

typedef struct qn_npu_add {
    int32_t profile;
    int32_t length, shift;
} qn_npu_add;

typedef struct qn_npu_pixels {
    int32_t profile;
    int32_t pixels, channels, shift;
} qn_npu_pixels;

typedef struct qn_npu_channels {
    int32_t profile;
    int32_t pixels, channels_a, channels_b, channels_out;
} qn_npu_channels;

typedef struct qn_vector {
    int32_t profile;
    int32_t length;
} qn_vector;

typedef struct qn_mult {
    int32_t profile;
    int32_t length, out_shift;
} qn_mult;

typedef struct qn_offset {
    int32_t profile;
    int32_t length, offset;
} qn_offset;

typedef struct qn_activation {
    int32_t profile;
    int32_t length, int_width, type; /* type: 0 sigmoid, anything else tanh */
} qn_activation;

typedef struct qn_softmax {
    int32_t profile;
    int32_t nb_batches, dim_vec;
} qn_softmax;

#endif
