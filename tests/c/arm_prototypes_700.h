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
