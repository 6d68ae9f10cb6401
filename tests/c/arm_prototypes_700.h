/* The functions that networks call, typed from the reference of CMSIS-NN 7.0.0, for a test to compare
 * with our own declarations; i32, u16 and u32 are int32_t, uint16_t and uint32_t. */

#define POOL(type, name)                                                                  \
    arm_cmsis_nn_status name(                                                             \
        const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,             \
        const cmsis_nn_dims *input_dims, const type *input,                               \
        const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims, type *output)
POOL(int8_t, arm_max_pool_s8);
POOL(int8_t, arm_avgpool_s8);
POOL(int16_t, arm_max_pool_s16);
POOL(int16_t, arm_avgpool_s16);

/* `scales` is the struct of multipliers and shifts: one pair, or one for each channel. */
#define WEIGHTED(params, scales, type, bias_type, name)                                   \
    arm_cmsis_nn_status name(                                                             \
        const cmsis_nn_context *ctx, const cmsis_nn_##params *params,                     \
        const cmsis_nn_##scales##_quant_params *quant_params,                             \
        const cmsis_nn_dims *input_dims, const type *input,                               \
        const cmsis_nn_dims *filter_dims, const int8_t *filter,                           \
        const cmsis_nn_dims *bias_dims, const bias_type *bias,                            \
        const cmsis_nn_dims *output_dims, type *output)
WEIGHTED(conv_params, per_channel, int8_t, i32, arm_convolve_wrapper_s8);
WEIGHTED(dw_conv_params, per_channel, int8_t, i32, arm_depthwise_conv_wrapper_s8);
WEIGHTED(fc_params, per_tensor, int8_t, i32, arm_fully_connected_s8);
WEIGHTED(fc_params, per_channel, int8_t, i32, arm_fully_connected_per_channel_s8);

#define ADD(type, name)                                                                   \
    arm_cmsis_nn_status name(                                                             \
        const type *input1, const type *input2, i32 input_1_offset, i32 input_1_mult,     \
        i32 input_1_shift, i32 input_2_offset, i32 input_2_mult, i32 input_2_shift,       \
        i32 left_shift, type *output, i32 out_offset, i32 out_mult, i32 out_shift,        \
        i32 act_min, i32 act_max, i32 block_size)
ADD(int8_t, arm_elementwise_add_s8);
ADD(int16_t, arm_elementwise_add_s16);

#define MUL(type, name)                                                                   \
    arm_cmsis_nn_status name(                                                             \
        const type *input1, const type *input2, i32 input_1_offset, i32 input_2_offset,   \
        type *output, i32 out_offset, i32 out_mult, i32 out_shift, i32 act_min,           \
        i32 act_max, i32 block_size)
MUL(int8_t, arm_elementwise_mul_s8);
MUL(int16_t, arm_elementwise_mul_s16);

arm_cmsis_nn_status arm_elementwise_mul_s16_s8(
    const int16_t *input1, const int16_t *input2, int8_t *output, i32 out_offset, i32 out_mult,
    i32 out_shift, i32 block_size, i32 batch_size, i32 batch_offset);

#define SOFTMAX(from, to, name)                                                           \
    void name(const from *input, i32 num_rows, i32 row_size, i32 mult, i32 shift,         \
              i32 diff_min, to *output)
SOFTMAX(int8_t, int8_t, arm_softmax_s8);
SOFTMAX(int8_t, int16_t, arm_softmax_s8_s16);
SOFTMAX(uint8_t, uint8_t, arm_softmax_u8);
arm_cmsis_nn_status arm_softmax_s16(
    const int16_t *input, i32 num_rows, i32 row_size, i32 mult, i32 shift,
    const cmsis_nn_softmax_lut_s16 *softmax_params, int16_t *output);
