/* Functions that networks call, typed from the reference of CMSIS-NN 7.0.0, for a test that
 * compares them with our own declarations; i32, u16 and u32 are int32_t, uint16_t and uint32_t. */

#define POOL(type, name)                                                                           \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params, \
                             const cmsis_nn_dims *input_dims, const type *input,                   \
                             const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,   \
                             type *output)
POOL(int8_t, arm_max_pool_s8);
POOL(int8_t, arm_avgpool_s8);
POOL(int16_t, arm_max_pool_s16);
POOL(int16_t, arm_avgpool_s16);

/* `scales` is the struct of multipliers and shifts: one pair, or one for each channel. */
#define WEIGHTED(params, scales, type, bias_type, name)                                    \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const cmsis_nn_##params *params, \
                             const cmsis_nn_##scales##_quant_params *quant_params,         \
                             const cmsis_nn_dims *input_dims, const type *input,           \
                             const cmsis_nn_dims *filter_dims, const int8_t *filter,       \
                             const cmsis_nn_dims *bias_dims, const bias_type *bias,        \
                             const cmsis_nn_dims *output_dims, type *output)
WEIGHTED(conv_params, per_channel, int8_t, i32, arm_convolve_wrapper_s8);
WEIGHTED(dw_conv_params, per_channel, int8_t, i32, arm_depthwise_conv_wrapper_s8);
WEIGHTED(fc_params, per_tensor, int8_t, i32, arm_fully_connected_s8);
WEIGHTED(fc_params, per_channel, int8_t, i32, arm_fully_connected_per_channel_s8);
WEIGHTED(fc_params, per_tensor, int16_t, int64_t, arm_fully_connected_s16);

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
    const cmsis_nn_quant_params *quant_params, const cmsis_nn_dims *input_dims, const int8_t *input,
    const cmsis_nn_dims *filter_dims, const int8_t *filter, const cmsis_nn_dims *bias_dims,
    const i32 *bias, const cmsis_nn_dims *output_dims, int8_t *output);

arm_cmsis_nn_status arm_fully_connected_s4(const cmsis_nn_context *ctx,
                                           const cmsis_nn_fc_params *fc_params,
                                           const cmsis_nn_per_tensor_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int8_t *input,
                                           const cmsis_nn_dims *filter_dims,
                                           const int8_t *filter_packed_s4,
                                           const cmsis_nn_dims *bias_dims, const i32 *bias,
                                           const cmsis_nn_dims *output_dims, int8_t *output);

#define PRODUCTS(type, name)                                                                     \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const cmsis_nn_bmm_params *bmm_params, \
                             const cmsis_nn_per_tensor_quant_params *quant_params,               \
                             const cmsis_nn_dims *input_lhs_dims, const type *lhs,               \
                             const cmsis_nn_dims *input_rhs_dims, const type *rhs,               \
                             const cmsis_nn_dims *output_dims, type *output)
PRODUCTS(int8_t, arm_batch_matmul_s8);
PRODUCTS(int16_t, arm_batch_matmul_s16);

#define ADD(type, name)                                                                         \
    arm_cmsis_nn_status name(const type *input1, const type *input2, i32 input_1_offset,        \
                             i32 input_1_mult, i32 input_1_shift, i32 input_2_offset,           \
                             i32 input_2_mult, i32 input_2_shift, i32 left_shift, type *output, \
                             i32 out_offset, i32 out_mult, i32 out_shift, i32 act_min,          \
                             i32 act_max, i32 block_size)
ADD(int8_t, arm_elementwise_add_s8);
ADD(int16_t, arm_elementwise_add_s16);

#define MUL(type, name)                                                                      \
    arm_cmsis_nn_status name(const type *input1, const type *input2, i32 input_1_offset,     \
                             i32 input_2_offset, type *output, i32 out_offset, i32 out_mult, \
                             i32 out_shift, i32 act_min, i32 act_max, i32 block_size)
MUL(int8_t, arm_elementwise_mul_s8);
MUL(int16_t, arm_elementwise_mul_s16);

arm_cmsis_nn_status arm_elementwise_mul_s16_s8(const int16_t *input1, const int16_t *input2,
                                               int8_t *output, i32 out_offset, i32 out_mult,
                                               i32 out_shift, i32 block_size, i32 batch_size,
                                               i32 batch_offset);

#define CHOICE(name)                                                                 \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const int8_t *input1,      \
                             const cmsis_nn_dims *input1_dims, const int8_t *input2, \
                             const cmsis_nn_dims *input2_dims, int8_t *output,       \
                             const cmsis_nn_dims *output_dims)
CHOICE(arm_minimum_s8);
CHOICE(arm_maximum_s8);

arm_cmsis_nn_status arm_nn_activation_s16(const int16_t *input, int16_t *output, i32 size,
                                          i32 left_shift, arm_nn_activation_type type);

void arm_reshape_s8(const int8_t *input, int8_t *output, u32 total_size);

#define JOIN(axis)                                                                               \
    void arm_concatenation_s8_##axis(const int8_t *input, u16 input_x, u16 input_y, u16 input_z, \
                                     u16 input_w, int8_t *output, u16 output_##axis, u32 offset)
JOIN(x);
JOIN(y);
JOIN(z);
void arm_concatenation_s8_w(const int8_t *input, u16 input_x, u16 input_y, u16 input_z, u16 input_w,
                            int8_t *output, u32 offset);

arm_cmsis_nn_status arm_pad_s8(const int8_t *input, int8_t *output, int8_t pad_value,
                               const cmsis_nn_dims *input_size, const cmsis_nn_dims *pre_pad,
                               const cmsis_nn_dims *post_pad);

arm_cmsis_nn_status arm_transpose_s8(const int8_t *input, int8_t *output,
                                     const cmsis_nn_dims *input_dims,
                                     const cmsis_nn_dims *output_dims,
                                     const cmsis_nn_transpose_params *transpose_params);

void arm_relu_q7(int8_t *data, u16 size);
void arm_relu_q15(int16_t *data, u16 size);
void arm_relu6_s8(int8_t *data, u16 size);

#define SOFTMAX(from, to, name)                                                                 \
    void name(const from *input, i32 num_rows, i32 row_size, i32 mult, i32 shift, i32 diff_min, \
              to *output)
SOFTMAX(int8_t, int8_t, arm_softmax_s8);
SOFTMAX(int8_t, int16_t, arm_softmax_s8_s16);
SOFTMAX(uint8_t, uint8_t, arm_softmax_u8);
arm_cmsis_nn_status arm_softmax_s16(const int16_t *input, i32 num_rows, i32 row_size, i32 mult,
                                    i32 shift, const cmsis_nn_softmax_lut_s16 *softmax_params,
                                    int16_t *output);

/* Those whose weights and bias have names and types of their own. */
#define CONVOLVE(params, type, weights, bias_type, bias, name)                             \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const cmsis_nn_##params *params, \
                             const cmsis_nn_per_channel_quant_params *quant_params,        \
                             const cmsis_nn_dims *input_dims, const type *input,           \
                             const cmsis_nn_dims *filter_dims, const int8_t *weights,      \
                             const cmsis_nn_dims *bias_dims, const bias_type *bias,        \
                             const cmsis_nn_dims *output_dims, type *output)
#define CONVOLVE_S8(name) CONVOLVE(conv_params, int8_t, filter, i32, bias, name)
#define CONVOLVE_S4(name) CONVOLVE(conv_params, int8_t, filter_packed_s4, i32, bias, name)
#define CONVOLVE_S16(name) \
    CONVOLVE(conv_params, int16_t, filter, cmsis_nn_bias_data, bias_data, name)
#define DEPTHWISE_S8(name) CONVOLVE(dw_conv_params, int8_t, filter, i32, bias, name)
#define DEPTHWISE_S4(name) CONVOLVE(dw_conv_params, int8_t, filter_packed_s4, i32, bias, name)
#define DEPTHWISE_S16(name) CONVOLVE(dw_conv_params, int16_t, filter, int64_t, bias, name)
CONVOLVE_S8(arm_convolve_1x1_s8);
CONVOLVE_S8(arm_convolve_1x1_s8_fast);
CONVOLVE_S8(arm_convolve_1_x_n_s8);
CONVOLVE_S4(arm_convolve_wrapper_s4);
CONVOLVE_S4(arm_convolve_s4);
CONVOLVE_S4(arm_convolve_even_s4);
CONVOLVE_S4(arm_convolve_1x1_s4);
CONVOLVE_S4(arm_convolve_1x1_s4_fast);
CONVOLVE_S4(arm_convolve_1_x_n_s4);
CONVOLVE_S16(arm_convolve_wrapper_s16);
CONVOLVE_S16(arm_convolve_s16);
DEPTHWISE_S8(arm_depthwise_conv_s8);
DEPTHWISE_S8(arm_depthwise_conv_s8_opt);
DEPTHWISE_S8(arm_depthwise_conv_3x3_s8);
DEPTHWISE_S4(arm_depthwise_conv_wrapper_s4);
DEPTHWISE_S4(arm_depthwise_conv_s4);
DEPTHWISE_S4(arm_depthwise_conv_s4_opt);
DEPTHWISE_S16(arm_depthwise_conv_wrapper_s16);
DEPTHWISE_S16(arm_depthwise_conv_s16);
DEPTHWISE_S16(arm_depthwise_conv_fast_s16);

arm_cmsis_nn_status arm_convolve_s8(const cmsis_nn_context *ctx,
                                    const cmsis_nn_conv_params *conv_params,
                                    const cmsis_nn_per_channel_quant_params *quant_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input,
                                    const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                    const cmsis_nn_dims *bias_dims, const i32 *bias,
                                    const cmsis_nn_dims *upscale_dims,
                                    const cmsis_nn_dims *output_dims, int8_t *output);

#define TRANSPOSED(second_ctx, name)                                                          \
    arm_cmsis_nn_status name(const cmsis_nn_context *ctx, const cmsis_nn_context *second_ctx, \
                             const cmsis_nn_transpose_conv_params *transpose_conv_params,     \
                             const cmsis_nn_per_channel_quant_params *quant_params,           \
                             const cmsis_nn_dims *input_dims, const int8_t *input,            \
                             const cmsis_nn_dims *filter_dims, const int8_t *filter,          \
                             const cmsis_nn_dims *bias_dims, const i32 *bias,                 \
                             const cmsis_nn_dims *output_dims, int8_t *output)
TRANSPOSED(reverse_conv_ctx, arm_transpose_conv_wrapper_s8);
TRANSPOSED(output_ctx, arm_transpose_conv_s8);
#define SVDF                                                               \
    const cmsis_nn_context *input_ctx, const cmsis_nn_context *output_ctx, \
        const cmsis_nn_svdf_params *svdf_params,                           \
        const cmsis_nn_per_tensor_quant_params *input_quant_params,        \
        const cmsis_nn_per_tensor_quant_params *output_quant_params,       \
        const cmsis_nn_dims *input_dims, const int8_t *input, const cmsis_nn_dims *state_dims
#define SVDF_WEIGHTS(type)                                                                 \
    type *state, const cmsis_nn_dims *weights_feature_dims, const int8_t *weights_feature, \
        const cmsis_nn_dims *weights_time_dims, const type *weights_time,                  \
        const cmsis_nn_dims *bias_dims, const i32 *bias, const cmsis_nn_dims *output_dims, \
        int8_t *output
arm_cmsis_nn_status arm_svdf_s8(const cmsis_nn_context *ctx, SVDF, SVDF_WEIGHTS(int8_t));
arm_cmsis_nn_status arm_svdf_state_s16_s8(SVDF, SVDF_WEIGHTS(int16_t));

arm_cmsis_nn_status arm_lstm_unidirectional_s8(const int8_t *input, int8_t *output,
                                               const cmsis_nn_lstm_params *params,
                                               cmsis_nn_lstm_context *buffers);
arm_cmsis_nn_status arm_lstm_unidirectional_s16(const int16_t *input, int16_t *output,
                                                const cmsis_nn_lstm_params *params,
                                                cmsis_nn_lstm_context *buffers);
