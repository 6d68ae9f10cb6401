/* Parameters of the ops that move elements; part of the C interface, see qn.h. Every one starts
 * with the profile; the other fields have Arm's names where Arm has the function. */
#ifndef QN_PARAMS_MOVEMENT_H
#define QN_PARAMS_MOVEMENT_H

#include <stdint.h>

typedef struct qn_s_copy {
    int32_t profile;
    int32_t total_size;
} qn_s_copy;

/* axis: 0 is x, the innermost, to 3, w. output_side: of that axis. */
typedef struct qn_s_concatenation {
    int32_t profile;
    int32_t input_x, input_y, input_z, input_w;
    int32_t axis, output_side, offset;
} qn_s_concatenation;

/* element, here and below: bytes of an element, 1, 2, 4 or 8. */
typedef struct qn_s_pad {
    int32_t profile;
    int32_t element;
    int32_t input_n, input_h, input_w, input_c;
    int32_t pre_n, pre_h, pre_w, pre_c, post_n, post_h, post_w, post_c;
    int32_t pad_value;
} qn_s_pad;

/* perm_i: the axis of the input that axis i of the output is. */
typedef struct qn_s_transpose {
    int32_t profile;
    int32_t num_dims;
    int32_t input_n, input_h, input_w, input_c, output_n, output_h, output_w, output_c;
    int32_t perm_0, perm_1, perm_2, perm_3;
} qn_s_transpose;

typedef struct qn_s_broadcast {
    int32_t profile;
    int32_t element;
    int32_t input_n, input_h, input_w, input_c, output_n, output_h, output_w, output_c;
} qn_s_broadcast;

typedef struct qn_s_join {
    int32_t profile;
    int32_t element, outer, inner1, inner2;
} qn_s_join;

/* perm_i: the axis of the input that axis i of the output is. */
typedef struct qn_s_permute {
    int32_t profile;
    int32_t element;
    int32_t input_0, input_1, input_2, input_3, input_4, input_5;
    int32_t output_0, output_1, output_2, output_3, output_4, output_5;
    int32_t perm_0, perm_1, perm_2, perm_3, perm_4, perm_5;
} qn_s_permute;

typedef struct qn_s_gather {
    int32_t profile;
    int32_t element, batches, outer, side, inner, count, depth;
    int32_t step_0, step_1, step_2, step_3, step_4;
} qn_s_gather;

/* rank: axes that have a start, the last ones. */
typedef struct qn_s_update {
    int32_t profile;
    int32_t element;
    int32_t side_0, side_1, side_2, side_3, side_4, side_5;
    int32_t update_0, update_1, update_2, update_3, update_4, update_5;
    int32_t rank;
} qn_s_update;

typedef struct qn_s_circular_buffer {
    int32_t profile;
    int32_t slots, depth, period;
} qn_s_circular_buffer;

typedef struct qn_s_hold {
    int32_t profile;
    int32_t element, length, period;
} qn_s_hold;

/* Zero points, multipliers and shifts: of 8 bits. */
typedef struct qn_s_cumsum {
    int32_t profile;
    int32_t outer, side, inner, exclusive, reverse;
    int32_t input_zero_point, output_zero_point;
    int32_t input_multiplier, input_shift, output_multiplier, output_shift;
} qn_s_cumsum;

typedef struct qn_s_slice {
    int32_t profile;
    int32_t element;
    int32_t input_0, input_1, input_2, input_3, input_4;
    int32_t begin_0, begin_1, begin_2, begin_3, begin_4;
    int32_t stride_0, stride_1, stride_2, stride_3, stride_4;
    int32_t output_0, output_1, output_2, output_3, output_4;
} qn_s_slice;

typedef struct qn_s_resize {
    int32_t profile;
    int32_t element;
    int32_t batches, input_h, input_w, channels, output_h, output_w;
    int32_t align_corners, half_pixel_centers;
} qn_s_resize;

#endif
