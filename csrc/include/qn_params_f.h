/* Parameters of operators of TensorFlow Lite Micro on float32 and int32. A field of a name ending
 * in _bits holds the bits of a float32. See qn_params_s.h. */
#ifndef QN_PARAMS_F_H
#define QN_PARAMS_F_H

#include <stdint.h>

/* Types of elements; what unary, binary, comparing, pooling and reducing ops compute; what fused
 * activations keep. */
enum { QN_F_S8 = 0, QN_F_S16 = 1, QN_F_S32 = 2, QN_F_U32 = 3, QN_F_F32 = 4, QN_F_B8 = 5 };
enum {
    QN_F_NEG = 0,
    QN_F_ABS = 1,
    QN_F_SQRT = 2,
    QN_F_RSQRT = 3,
    QN_F_SQUARE = 4,
    QN_F_EXP = 5,
    QN_F_LOG = 6,
    QN_F_SIN = 7,
    QN_F_COS = 8,
    QN_F_CEIL = 9,
    QN_F_FLOOR = 10,
    QN_F_ROUND = 11,
    QN_F_RELU = 12,
    QN_F_RELU6 = 13,
    QN_F_LEAKY_RELU = 14,
    QN_F_ELU = 15,
    QN_F_LOGISTIC = 16,
    QN_F_TANH = 17,
    QN_F_HARD_SWISH = 18
};
enum {
    QN_F_ADD = 0,
    QN_F_SUB = 1,
    QN_F_MUL = 2,
    QN_F_DIV = 3,
    QN_F_MAXIMUM = 4,
    QN_F_MINIMUM = 5,
    QN_F_SQUARED_DIFFERENCE = 6,
    QN_F_FLOOR_DIV = 7,
    QN_F_FLOOR_MOD = 8,
    QN_F_PRELU = 9
};
enum {
    QN_F_EQUAL = 0,
    QN_F_NOT_EQUAL = 1,
    QN_F_GREATER = 2,
    QN_F_GREATER_EQUAL = 3,
    QN_F_LESS = 4,
    QN_F_LESS_EQUAL = 5
};
enum { QN_F_AVERAGE_POOL = 0, QN_F_MAX_POOL = 1, QN_F_L2_POOL = 2 };
enum { QN_F_SUM = 0, QN_F_MEAN = 1, QN_F_REDUCE_MAX = 2, QN_F_REDUCE_MIN = 3 };
enum { QN_F_KEEP_ALL = 0, QN_F_KEEP_RELU = 1, QN_F_KEEP_RELU_N1_TO_1 = 2, QN_F_KEEP_RELU6 = 3 };

typedef struct qn_s_float_cast {
    int32_t profile;
    int32_t length, from, to;
} qn_s_float_cast;

/* Also of dequantize. */
typedef struct qn_s_float_quantize {
    int32_t profile;
    int32_t length, zero_point, scale_bits;
} qn_s_float_quantize;

/* Parameters of ExecuTorch. */
typedef struct qn_s_quantize_per_tensor {
    int32_t profile;
    int32_t length, zero_point, scale_bits, quant_min, quant_max;
} qn_s_quantize_per_tensor;

typedef struct qn_s_quantized_div {
    int32_t profile;
    int32_t length, zero_point_1, zero_point_2, output_zero_point, factor_bits;
} qn_s_quantized_div;

typedef struct qn_s_float_convolve {
    int32_t profile;
    int32_t transposed;
    int32_t batches, input_h, input_w, input_c, output_h, output_w, output_c;
    int32_t filter_h, filter_w, filter_c, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} qn_s_float_convolve;

typedef struct qn_s_float_upsample {
    int32_t profile;
    int32_t batches, input_h, input_w, channels, output_h, output_w;
    int32_t scale_h_bits, scale_w_bits, align_corners;
} qn_s_float_upsample;

typedef struct qn_s_float_layer_norm {
    int32_t profile;
    int32_t num_rows, row_size, eps_bits;
} qn_s_float_layer_norm;

typedef struct qn_s_float_adaptive_pool {
    int32_t profile;
    int32_t planes, input_h, input_w, output_h, output_w;
} qn_s_float_adaptive_pool;

/* alpha_bits: the slope of leaky_relu. */
typedef struct qn_s_float_unary {
    int32_t profile;
    int32_t length, what, alpha_bits;
} qn_s_float_unary;

/* activation: of sums, differences, products and quotients. */
typedef struct qn_s_float_binary {
    int32_t profile;
    int32_t length, what, activation;
} qn_s_float_binary;

typedef struct qn_s_float_compare {
    int32_t profile;
    int32_t length, what;
} qn_s_float_compare;

typedef struct qn_s_float_softmax {
    int32_t profile;
    int32_t num_rows, row_size, beta_bits, is_log;
} qn_s_float_softmax;

typedef struct qn_s_float_pool {
    int32_t profile;
    int32_t what;
    int32_t batches, input_h, input_w, channels, output_h, output_w;
    int32_t filter_h, filter_w, stride_h, stride_w, pad_h, pad_w, activation;
} qn_s_float_pool;

typedef struct qn_s_float_reduce {
    int32_t profile;
    int32_t what;
    int32_t kept_0, reduced_0, kept_1, reduced_1, kept_2;
} qn_s_float_reduce;

/* background: scores of each box before those of classes. limit: boxes of a class that are chosen.
 * per_box: classes of a chosen box. capacity: rows of the outputs. */
typedef struct qn_s_detection {
    int32_t profile;
    int32_t boxes, box_size, classes, background, max_detections, limit, per_box, capacity;
    int32_t is_regular, score_threshold_bits, iou_threshold_bits;
    int32_t y_scale_bits, x_scale_bits, h_scale_bits, w_scale_bits;
} qn_s_detection;

/* lhs_n, lhs_h, rhs_n, rhs_h: matrices of each operand along the two outer axes. */
typedef struct qn_s_float_bmm {
    int32_t profile;
    int32_t lhs_n, lhs_h, rhs_n, rhs_h, rows, depth, columns, adj_x, adj_y;
} qn_s_float_bmm;

#endif
