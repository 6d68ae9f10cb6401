/* ADD_N and L2_NORMALIZATION of TensorFlow Lite Micro, plain. */
#include "sums.h"

int s_add_n_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_add_n *p = params;
    const s_range all[] = {
        {"count", p->count, 1, 15},
        {"length", p->length, 0, INT32_MAX / (p->count > 0 ? p->count : 1)},
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
        {"output_zero_point", p->output_zero_point, INT8_MIN, INT8_MAX},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, 0},
    };
    sizes->in[0] = (int64_t)p->count * p->length;
    sizes->out = p->length;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_add_n_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_add_n *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        int32_t sum = -p->input_zero_point;
        for (int64_t n = 0; n < p->count; n++) {
            sum += in[n * p->length + i] - p->input_zero_point;
        }
        int32_t scaled = s_tflm_requantize(p->profile, sum * (1 << 19), p->multiplier, p->shift);
        out[i] = qn_sat8(qn_add32(scaled, p->output_zero_point));
    }
    return QN_OK;
}

int s_l2_norm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_l2_norm *p = params;
    const s_range all[] = {
        {"row_size", p->row_size, 1, 33025},
        {"num_rows", p->num_rows, 0, INT32_MAX / (p->row_size > 0 ? p->row_size : 1)},
        {"input_zero_point", p->input_zero_point, INT8_MIN, INT8_MAX},
    };
    sizes->in[0] = sizes->out = (int64_t)p->num_rows * p->row_size;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_l2_norm_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_l2_norm *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t row = 0; row < p->num_rows; row++, in += p->row_size, out += p->row_size) {
        int32_t sum = 0;
        for (int32_t i = 0; i < p->row_size; i++) {
            int32_t v = in[i] - p->input_zero_point;
            sum += v * v;
        }
        const s_root root = s_inverse_root(sum);
        for (int32_t i = 0; i < p->row_size; i++) {
            out[i] = qn_sat8(s_tflm_requantize(p->profile, in[i] - p->input_zero_point,
                                               root.multiplier, root.shift + 7));
        }
    }
    return QN_OK;
}
