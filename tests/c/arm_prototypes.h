/* The functions that networks call, typed from the reference of CMSIS-NN 5.9.0, of CMSIS-DSP and of
 * ML-KWS-for-MCU, for a test to compare with our own declarations; u16 and u32 are uint16_t and
 * uint32_t. */

#define IN_OUT(type, name)                                                                         \
    arm_status name(const type *Im_in, u16 dim_im_in, u16 ch_im_in, const type *wt, u16 ch_im_out, \
                    u16 dim_kernel, u16 padding, u16 stride, const type *bias, u16 bias_shift,     \
                    u16 out_shift, type *Im_out, u16 dim_im_out, q15_t *bufferA, q7_t *bufferB)
IN_OUT(q7_t, arm_convolve_HWC_q7_basic);
IN_OUT(q7_t, arm_convolve_HWC_q7_fast);
IN_OUT(q7_t, arm_convolve_HWC_q7_RGB);
IN_OUT(q7_t, arm_depthwise_separable_conv_HWC_q7);
IN_OUT(q15_t, arm_convolve_HWC_q15_basic);
IN_OUT(q15_t, arm_convolve_HWC_q15_fast);

#define OBLONG(type, name)                                                                      \
    arm_status name(const type *Im_in, u16 dim_im_in_x, u16 dim_im_in_y, u16 ch_im_in,          \
                    const type *wt, u16 ch_im_out, u16 dim_kernel_x, u16 dim_kernel_y,          \
                    u16 padding_x, u16 padding_y, u16 stride_x, u16 stride_y, const type *bias, \
                    u16 bias_shift, u16 out_shift, type *Im_out, u16 dim_im_out_x,              \
                    u16 dim_im_out_y, q15_t *bufferA, q7_t *bufferB)
OBLONG(q7_t, arm_convolve_HWC_q7_basic_nonsquare);
OBLONG(q7_t, arm_convolve_HWC_q7_fast_nonsquare);
OBLONG(q7_t, arm_convolve_1x1_HWC_q7_fast_nonsquare);
OBLONG(q7_t, arm_depthwise_separable_conv_HWC_q7_nonsquare);
OBLONG(q15_t, arm_convolve_HWC_q15_fast_nonsquare);

#define DENSE(data, weight, name)                                                   \
    arm_status name(const data *pV, const weight *pM, u16 dim_vec, u16 num_of_rows, \
                    u16 bias_shift, u16 out_shift, const weight *bias, data *pOut,  \
                    q15_t *vec_buffer)
DENSE(q7_t, q7_t, arm_fully_connected_q7);
DENSE(q7_t, q7_t, arm_fully_connected_q7_opt);
DENSE(q15_t, q15_t, arm_fully_connected_q15);
DENSE(q15_t, q15_t, arm_fully_connected_q15_opt);
DENSE(q15_t, q7_t, arm_fully_connected_mat_q7_vec_q15);
DENSE(q15_t, q7_t, arm_fully_connected_mat_q7_vec_q15_opt);

q7_t *arm_nn_mat_mult_kernel_q7_q15(const q7_t *pA, const q15_t *pInBuffer, u16 ch_im_out,
                                    u16 numCol_A, u16 bias_shift, u16 out_shift, const q7_t *bias,
                                    q7_t *pOut);
q7_t *arm_nn_mat_mult_kernel_q7_q15_reordered(const q7_t *pA, const q15_t *pInBuffer, u16 ch_im_out,
                                              u16 numCol_A, u16 bias_shift, u16 out_shift,
                                              const q7_t *bias, q7_t *pOut);

void arm_maxpool_q7_HWC(q7_t *Im_in, u16 dim_im_in, u16 ch_im_in, u16 dim_kernel, u16 padding,
                        u16 stride, u16 dim_im_out, q7_t *bufferA, q7_t *Im_out);
void arm_avepool_q7_HWC(q7_t *Im_in, u16 dim_im_in, u16 ch_im_in, u16 dim_kernel, u16 padding,
                        u16 stride, u16 dim_im_out, q7_t *bufferA, q7_t *Im_out);
void arm_avepool_q7_HWC_nonsquare(const q7_t *Im_in, u16 dim_im_in_x, u16 dim_im_in_y, u16 ch_im_in,
                                  u16 dim_kernel_x, u16 dim_kernel_y, u16 padding_x, u16 padding_y,
                                  u16 stride_x, u16 stride_y, u16 dim_im_out_x, u16 dim_im_out_y,
                                  q7_t *bufferA, q7_t *Im_out, u16 out_lshift);

#define POOL(type, name)                                                                  \
    arm_status name(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params, \
                    const cmsis_nn_dims *input_dims, const type *input,                   \
                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,   \
                    type *output)
POOL(q7_t, arm_max_pool_s8);
POOL(q7_t, arm_avgpool_s8);
POOL(q15_t, arm_max_pool_s16);
POOL(q15_t, arm_avgpool_s16);

void arm_relu_q7(q7_t *data, u16 size);
void arm_relu_q15(q15_t *data, u16 size);
void arm_relu6_s8(q7_t *data, u16 size);
void arm_nn_activations_direct_q7(q7_t *data, u16 size, u16 int_width, arm_nn_activation_type type);
void arm_nn_activations_direct_q15(q15_t *data, u16 size, u16 int_width,
                                   arm_nn_activation_type type);
void arm_softmax_q7(const q7_t *vec_in, u16 dim_vec, q7_t *p_out);
void arm_softmax_q15(const q15_t *vec_in, u16 dim_vec, q15_t *p_out);
void arm_softmax_with_batch_q7(const q7_t *vec_in, u16 nb_batches, u16 dim_vec, q7_t *p_out);

void arm_nn_mult_q7(q7_t *pSrcA, q7_t *pSrcB, q7_t *pDst, u16 out_shift, u32 blockSize);
void arm_nn_mult_q15(q15_t *pSrcA, q15_t *pSrcB, q15_t *pDst, u16 out_shift, u32 blockSize);
void arm_nn_add_q7(const q7_t *input, q31_t *output, u32 block_size);
void arm_nn_accumulate_q7_to_q15(q15_t *pDst, const q7_t *pSrc, u32 length);
void arm_q7_to_q15_no_shift(const q7_t *pSrc, q15_t *pDst, u32 blockSize);
void arm_q7_to_q15_reordered_no_shift(const q7_t *pSrc, q15_t *pDst, u32 blockSize);
void arm_q7_to_q15_with_offset(const q7_t *src, q15_t *dst, u32 block_size, q15_t offset);
void arm_q7_to_q15_reordered_with_offset(const q7_t *src, q15_t *dst, u32 block_size, q15_t offset);

#define VECTORS(type, name) \
    void name(const type *pSrcA, const type *pSrcB, type *pDst, u32 blockSize)
VECTORS(q7_t, arm_mult_q7);
VECTORS(q15_t, arm_mult_q15);
VECTORS(q7_t, arm_add_q7);
VECTORS(q15_t, arm_add_q15);
VECTORS(q7_t, arm_sub_q7);
VECTORS(q15_t, arm_sub_q15);
void arm_offset_q7(const q7_t *pSrc, q7_t offset, q7_t *pDst, u32 blockSize);
void arm_offset_q15(const q15_t *pSrc, q15_t offset, q15_t *pDst, u32 blockSize);
