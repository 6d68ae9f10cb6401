/* Parameters of the ops of the s8 and s16 API; part of the C interface, see qn.h. Every one starts
 * with the profile; the other fields have Arm's names. Images are [batch][y][x][channel]. */
#ifndef QN_PARAMS_S_H
#define QN_PARAMS_S_H

#include <stdint.h>

/* ---- pooling ---- */
typedef struct qn_s_pool {
    int32_t profile;
    int32_t batches, input_h, input_w, channels;
    int32_t filter_h, filter_w, stride_h, stride_w, pad_h, pad_w;
    int32_t output_h, output_w, act_min, act_max;
} qn_s_pool;

/* ---- convolution ---- */
/* Arm's function of a call: the wrapper, which chooses among the others by the shape, the
 * one for any shape, or one for shapes of its own; or the reference kernel of TensorFlow Lite
 * Micro. */
enum {
    QN_S_WRAPPER = 0,
    QN_S_ANY = 1,
    QN_S_1X1 = 2,
    QN_S_1X1_FAST = 3,
    QN_S_1XN = 4,
    QN_S_OPT = 5,
    QN_S_3X3 = 6,
    QN_S_EVEN = 7,
    QN_S_REFERENCE = 8
};

/* filter_c: input channels of one group. Every field up to act_max has its counterpart in the
 * depthwise and in the transposed convolution. bias_is_int32: of the s16 type. */
typedef struct qn_s_conv {
    int32_t profile;
    int32_t batches, input_h, input_w, input_c, filter_h, filter_w, filter_c;
    int32_t output_h, output_w, output_c;
    int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t input_offset, output_offset, act_min, act_max;
    int32_t bias_is_int32, kernel;
} qn_s_conv;

/* Output channel input_c * ch_mult + k. */
typedef struct qn_s_depthwise {
    int32_t profile;
    int32_t batches, input_h, input_w, input_c, filter_h, filter_w, ch_mult;
    int32_t output_h, output_w;
    int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t input_offset, output_offset, act_min, act_max;
    int32_t kernel;
} qn_s_depthwise;

/* pad_offset: what the right and the bottom are padded by beyond pad; nothing looks at it. */
typedef struct qn_s_transpose_conv {
    int32_t profile;
    int32_t batches, input_h, input_w, input_c, filter_h, filter_w;
    int32_t output_h, output_w, output_c;
    int32_t stride_h, stride_w, pad_h, pad_w, pad_offset_h, pad_offset_w, dilation_h, dilation_w;
    int32_t input_offset, output_offset, act_min, act_max;
    int32_t kernel;
} qn_s_transpose_conv;

/* ---- fully connected, matrix products ---- */
/* multiplier and shift: of the ops that have one pair for all outputs. is_per_channel: does the
 * device take the function for several pairs? */
typedef struct qn_s_fc {
    int32_t profile;
    int32_t batches, input_c, output_c;
    int32_t input_offset, filter_offset, output_offset, act_min, act_max, multiplier, shift;
    int32_t is_per_channel;
} qn_s_fc;

/* lhs [n][h][w][c], rhs [n][h][w][c]; adj_x and adj_y tell what the caller has done. */
typedef struct qn_s_bmm {
    int32_t profile;
    int32_t lhs_n, lhs_h, lhs_w, lhs_c, rhs_n, rhs_h, rhs_w, rhs_c;
    int32_t adj_x, adj_y;
    int32_t lhs_offset, rhs_offset, output_offset, act_min, act_max, multiplier, shift;
} qn_s_bmm;

/* ---- recurrent ---- */
/* units * rank filters, each with time_batches values in the state. */
typedef struct qn_s_svdf {
    int32_t profile;
    int32_t batches, input_size, units, rank, time_batches;
    int32_t input_offset, output_offset, state_offset, newest_offset;
    int32_t in_act_min, in_act_max, out_act_min, out_act_max;
    int32_t in_multiplier, in_shift, out_multiplier, out_shift;
} qn_s_svdf;

/* has_...: is there such an array? Gates: forget, input_gate, cell, output_gate. */
typedef struct qn_s_lstm {
    int32_t profile;
    int32_t time_major, batch_size, time_steps, input_size, hidden_size;
    int32_t has_cell_state, has_hidden_state;
    int32_t forget_to_cell_multiplier, forget_to_cell_shift;
    int32_t input_to_cell_multiplier, input_to_cell_shift;
    int32_t cell_clip, cell_scale_power, output_multiplier, output_shift, output_offset;
    int32_t forget_input_multiplier, forget_input_shift;
    int32_t forget_hidden_multiplier, forget_hidden_shift, forget_activation_type;
    int32_t input_gate_input_multiplier, input_gate_input_shift;
    int32_t input_gate_hidden_multiplier, input_gate_hidden_shift, input_gate_activation_type;
    int32_t cell_input_multiplier, cell_input_shift;
    int32_t cell_hidden_multiplier, cell_hidden_shift, cell_activation_type;
    int32_t output_gate_input_multiplier, output_gate_input_shift;
    int32_t output_gate_hidden_multiplier, output_gate_hidden_shift, output_gate_activation_type;
} qn_s_lstm;

/* ---- element-wise ---- */
typedef struct qn_s_add {
    int32_t profile;
    int32_t block_size;
    int32_t input_1_offset, input_1_mult, input_1_shift;
    int32_t input_2_offset, input_2_mult, input_2_shift;
    int32_t left_shift, out_offset, out_mult, out_shift, act_min, act_max;
} qn_s_add;

typedef struct qn_s_mul {
    int32_t profile;
    int32_t block_size, batch_size, batch_offset;
    int32_t input_1_offset, input_2_offset;
    int32_t out_offset, out_mult, out_shift, act_min, act_max;
} qn_s_mul;

typedef struct qn_s_minmax {
    int32_t profile;
    int32_t input1_n, input1_h, input1_w, input1_c;
    int32_t input2_n, input2_h, input2_w, input2_c;
} qn_s_minmax;

/* ---- softmax, activations ---- */
/* diff_min: of 8-bit rows. */
typedef struct qn_s_softmax {
    int32_t profile;
    int32_t num_rows, row_size, mult, shift, diff_min;
} qn_s_softmax;

typedef struct qn_s_activation {
    int32_t profile;
    int32_t size, left_shift, type; /* type: 0 sigmoid, 1 tanh */
} qn_s_activation;

/* ---- of TensorFlow Lite Micro ---- */
/* Elements of `width` bytes. */
typedef struct qn_s_elements {
    int32_t profile;
    int32_t length, width;
} qn_s_elements;

typedef struct qn_s_requantize {
    int32_t profile;
    int32_t length, input_zero_point, output_zero_point, multiplier, shift, act_min, act_max;
} qn_s_requantize;

typedef struct qn_s_leaky_relu {
    int32_t profile;
    int32_t length, input_zero_point, output_zero_point;
    int32_t identity_multiplier, identity_shift, alpha_multiplier, alpha_shift;
} qn_s_leaky_relu;

typedef struct qn_s_prelu {
    int32_t profile;
    int32_t outer, inner, input_zero_point, alpha_zero_point, output_zero_point;
    int32_t identity_multiplier, identity_shift, alpha_multiplier, alpha_shift;
} qn_s_prelu;

typedef struct qn_s_rescale {
    int32_t profile;
    int32_t length, output_zero_point;
} qn_s_rescale;

/* Also of tanh. input_zero_point and input_range_radius: of 8 bits. */
typedef struct qn_s_logistic {
    int32_t profile;
    int32_t length, input_zero_point, input_range_radius, input_multiplier, input_left_shift;
} qn_s_logistic;

/* Also of sums, and of reductions that have no use for scales. */
typedef struct qn_s_mean {
    int32_t profile;
    int32_t kept_0, reduced_0, kept_1, reduced_1, kept_2;
    int32_t input_zero_point, output_zero_point, multiplier, shift;
} qn_s_mean;

/* ---- of ESP-NN on an ESP32-S3 ---- */
/* input_align: the address of the input modulo 16. Rows start at input_align + row * input_c. */
typedef struct qn_s_esp_fc {
    int32_t profile;
    int32_t batches, input_c, output_c;
    int32_t input_offset, filter_offset, output_offset, act_min, act_max, multiplier, shift;
    int32_t input_align;
} qn_s_esp_fc;

/* input_align: of the first input; the second has the same address modulo 16. */
typedef struct qn_s_esp_mul {
    int32_t profile;
    int32_t block_size, input_1_offset, input_2_offset;
    int32_t out_offset, out_mult, out_shift, act_min, act_max;
    int32_t input_align;
} qn_s_esp_mul;

/* in_vectors: is the maximum of a row of 32 elements and more taken 16 elements at a time? */
typedef struct qn_s_esp_softmax {
    int32_t profile;
    int32_t num_rows, row_size, mult, shift, diff_min;
    int32_t input_align, in_vectors;
} qn_s_esp_softmax;

/* ---- of ESP-DL ---- */
/* Chips whose kernels compute a call: portable C (ESP32, S2, C3, C6), or vectors. */
enum { QN_DL_C = 0, QN_DL_S3 = 1, QN_DL_P4 = 2 };

/* right_shift: the exponent of the output less those of input and filter. rectified: the
 * result is at least 0. per_channel: 1 where a row of right shifts, one of each output channel,
 * follows the biases, and right_shift is 0. A depthwise convolution has no output_c. */
typedef struct qn_dl_conv {
    int32_t profile;
    int32_t batches, input_h, input_w, input_c, filter_h, filter_w;
    int32_t output_h, output_w, output_c;
    int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t right_shift, rectified, per_channel, chip;
} qn_dl_conv;

/* matrices: products of as many pairs of matrices. */
typedef struct qn_dl_dense {
    int32_t profile;
    int32_t matrices, batches, input_c, output_c;
    int32_t right_shift, rectified, per_channel, chip;
} qn_dl_dense;

/* row_size: elements of the innermost axis, on which the vector kernels of a chip work. scalar: the
 * operand, 1 or 2, that has one element for a row; 0: none. */
typedef struct qn_dl_pair {
    int32_t profile;
    int32_t block_size, row_size, scalar, right_shift, chip;
} qn_dl_pair;

/* right_shift: the exponent of the output less that of the input. */
typedef struct qn_dl_vector {
    int32_t profile;
    int32_t block_size, right_shift, chip;
} qn_dl_vector;

/* places: of the table, 2^16, or one more than a power of two. */
typedef struct qn_dl_table {
    int32_t profile;
    int32_t block_size, places, chip;
} qn_dl_table;

typedef struct qn_dl_clip {
    int32_t profile;
    int32_t block_size, low, high, right_shift, chip;
} qn_dl_clip;

/* Functions of one number, computed in floats. _bits: of a float32. */
enum {
    QN_DL_SIGMOID = 0,
    QN_DL_TANH = 1,
    QN_DL_EXP = 2,
    QN_DL_LOG = 3,
    QN_DL_SQRT = 4,
    QN_DL_ELU = 5,
    QN_DL_LEAKY_RELU = 6,
    QN_DL_HARD_SWISH = 7,
    QN_DL_HARD_SIGMOID = 8,
    QN_DL_SWISH = 9
};
typedef struct qn_dl_curve {
    int32_t profile;
    int32_t block_size, input_exponent, output_exponent, alpha_bits, beta_bits, kind, chip;
} qn_dl_curve;

/* input_right_shift: the exponent of the output less that of the input. */
typedef struct qn_dl_prelu {
    int32_t profile;
    int32_t outer, inner, alpha_right_shift, input_right_shift, chip;
} qn_dl_prelu;

typedef struct qn_dl_pool {
    int32_t profile;
    int32_t batches, input_h, input_w, channels, filter_h, filter_w, output_h, output_w;
    int32_t stride_h, stride_w, pad_h, pad_w, right_shift, chip;
} qn_dl_pool;

/* inverse_.._bits: pixels of the input for one of the output, as the bits of a float32. axes: 1 for
 * lines, 2 for images. */
typedef struct qn_dl_resize {
    int32_t profile;
    int32_t batches, input_h, input_w, channels, output_h, output_w;
    int32_t inverse_h_bits, inverse_w_bits, align_corners, axes;
    int32_t input_exponent, output_exponent, chip;
} qn_dl_resize;

typedef struct qn_dl_softmax {
    int32_t profile;
    int32_t outer, size, inner, input_exponent;
} qn_dl_softmax;

/* right_shift: of sums; input_exponent, output_exponent: of floats. */
typedef struct qn_dl_reduce {
    int32_t profile;
    int32_t kept_0, reduced_0, kept_1, reduced_1, kept_2, right_shift, chip;
    int32_t input_exponent, output_exponent;
} qn_dl_reduce;

/* Comparisons of integers. */
enum {
    QN_DL_EQUAL = 0,
    QN_DL_GREATER = 1,
    QN_DL_GREATER_OR_EQUAL = 2,
    QN_DL_LESS = 3,
    QN_DL_LESS_OR_EQUAL = 4
};
typedef struct qn_dl_compare {
    int32_t profile;
    int32_t block_size, kind;
} qn_dl_compare;

/* Functions of two numbers, computed in floats. */
typedef struct qn_dl_powers {
    int32_t profile;
    int32_t block_size, input1_exponent, input2_exponent, output_exponent, chip;
} qn_dl_powers;

/* Normalization of rows, or along an axis. p: the norm, 1 or 2. */
typedef struct qn_dl_norm {
    int32_t profile;
    int32_t outer, size, inner, input_exponent, scale_exponent, bias_exponent, output_exponent;
    int32_t epsilon_bits, p, chip;
} qn_dl_norm;

/* GRU and LSTM. right_shift, state_right_shift: the exponent of the gates less those of weights and
 * of the input, or of the state; output_exponent: of the state. cell: 1 where the output is the
 * last cell state. */
typedef struct qn_dl_recurrent {
    int32_t profile;
    int32_t time_steps, input_size, hidden_size, directions, right_shift, state_right_shift;
    int32_t gate_exponent, output_exponent, cell, chip;
} qn_dl_recurrent;

/* offsets: slices of `slice` elements to update, each at an offset. kind: what an update does. */
enum { QN_DL_SET = 0, QN_DL_ADD = 1, QN_DL_MUL = 2, QN_DL_MAX = 3, QN_DL_MIN = 4 };
typedef struct qn_dl_scatter {
    int32_t profile;
    int32_t block_size, slices, slice, kind;
} qn_dl_scatter;

/* ---- primitives: qn_vector ---- */

#endif
