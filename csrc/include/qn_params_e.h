/* Parameters of elementwise operators of TensorFlow Lite Micro. See qn_params_s.h. */
#ifndef QN_PARAMS_E_H
#define QN_PARAMS_E_H

#include <stdint.h>

typedef struct qn_s_hard_swish {
    int32_t profile;
    int32_t length, input_zero_point, output_zero_point;
    int32_t output_multiplier, output_shift, reluish_multiplier, reluish_shift;
} qn_s_hard_swish;

typedef struct qn_s_log_softmax {
    int32_t profile;
    int32_t num_rows, row_size, mult, shift, diff_min, reverse_mult, reverse_shift;
} qn_s_log_softmax;

typedef struct qn_s_div {
    int32_t profile;
    int32_t length, input_1_zero_point, input_2_zero_point, output_zero_point;
    int32_t multiplier, shift, act_min, act_max;
} qn_s_div;

typedef struct qn_s_add_n {
    int32_t profile;
    int32_t count, length, input_zero_point, output_zero_point, multiplier, shift;
} qn_s_add_n;

typedef struct qn_s_l2_norm {
    int32_t profile;
    int32_t num_rows, row_size, input_zero_point;
} qn_s_l2_norm;

/* kind: 0 ==, 1 !=, 2 >, 3 >=, 4 <, 5 <=. */
typedef struct qn_s_compare {
    int32_t profile;
    int32_t length, kind, input_1_offset, input_1_mult, input_1_shift;
    int32_t input_2_offset, input_2_mult, input_2_shift;
} qn_s_compare;

#endif
