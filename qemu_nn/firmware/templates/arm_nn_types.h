#include <stdbool.h>
#include <stdint.h>

typedef enum {
    ARM_CMSIS_NN_SUCCESS = 0,
    ARM_CMSIS_NN_ARG_ERROR = -1,
    ARM_CMSIS_NN_NO_IMPL_ERROR = -2,
    ARM_CMSIS_NN_FAILURE = -3
} arm_cmsis_nn_status;

typedef enum { ARM_SIGMOID = 0, ARM_TANH = 1 } arm_nn_activation_type;

typedef struct cmsis_nn_context {
    void *buf;
    int32_t size;
} cmsis_nn_context;

typedef struct cmsis_nn_dims {
    int32_t n, h, w, c;
} cmsis_nn_dims;

typedef struct cmsis_nn_tile {
    int32_t w, h;
} cmsis_nn_tile;

typedef struct cmsis_nn_activation {
    int32_t min, max;
} cmsis_nn_activation;

typedef struct cmsis_nn_bias_data {
    const void *data;
    const bool is_int32_bias;
} cmsis_nn_bias_data;

typedef struct cmsis_nn_per_channel_quant_params {
    int32_t *multiplier, *shift;
} cmsis_nn_per_channel_quant_params;

typedef struct cmsis_nn_per_tensor_quant_params {
    int32_t multiplier, shift;
} cmsis_nn_per_tensor_quant_params;

typedef struct cmsis_nn_quant_params {
    int32_t *multiplier, *shift;
    int32_t is_per_channel;
} cmsis_nn_quant_params;

typedef struct cmsis_nn_conv_params {
    int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;

typedef struct cmsis_nn_transpose_conv_params {
    int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, padding_offsets, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_transpose_conv_params;

typedef struct cmsis_nn_dw_conv_params {
    int32_t input_offset, output_offset, ch_mult;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;

typedef struct cmsis_nn_pool_params {
    cmsis_nn_tile stride, padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;

typedef struct cmsis_nn_fc_params {
    int32_t input_offset, filter_offset, output_offset;
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

typedef struct cmsis_nn_bmm_params {
    const bool adj_x, adj_y;
    cmsis_nn_fc_params fc_params;
} cmsis_nn_bmm_params;

typedef struct cmsis_nn_transpose_params {
    const int32_t num_dims;
    const uint32_t *permutations;
} cmsis_nn_transpose_params;

typedef struct cmsis_nn_svdf_params {
    int32_t rank, input_offset, output_offset;
    cmsis_nn_activation input_activation, output_activation;
} cmsis_nn_svdf_params;

typedef struct cmsis_nn_softmax_lut_s16 {
    const int16_t *exp_lut, *one_by_one_lut;
} cmsis_nn_softmax_lut_s16;

typedef struct cmsis_nn_lstm_gate {
    int32_t input_multiplier, input_shift;
    const void *input_weights, *input_effective_bias;
    int32_t hidden_multiplier, hidden_shift;
    const void *hidden_weights, *hidden_effective_bias;
    const void *bias;
    arm_nn_activation_type activation_type;
} cmsis_nn_lstm_gate;

typedef struct cmsis_nn_lstm_params {
    int32_t time_major, batch_size, time_steps, input_size, hidden_size;
    int32_t input_offset;
    int32_t forget_to_cell_multiplier, forget_to_cell_shift;
    int32_t input_to_cell_multiplier, input_to_cell_shift;
    int32_t cell_clip, cell_scale_power;
    int32_t output_multiplier, output_shift, output_offset;
    cmsis_nn_lstm_gate forget_gate, input_gate, cell_gate, output_gate;
} cmsis_nn_lstm_params;

typedef struct cmsis_nn_lstm_context {
    void *temp1, *temp2, *cell_state;
{% if has_hidden_state %}
    void *hidden_state;
{% endif %}
} cmsis_nn_lstm_context;
