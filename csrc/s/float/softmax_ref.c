/* SOFTMAX and LOG_SOFTMAX of float32, plain. */
#include "softmax.h"

int s_float_softmax_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_softmax *p = params;
    const int32_t most = 1 << 28;
    const s_range all[] = {
        {"num_rows", p->num_rows, 0, most},
        {"row_size", p->row_size, 1, most / (p->num_rows > 1 ? p->num_rows : 1)},
        {"is_log", p->is_log, 0, 1},
    };
    sizes->in[0] = sizes->out = (int64_t)p->num_rows * p->row_size * 4;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static float largest_of(const float *row, int32_t size) {
    float largest = -FLT_MAX;
    for (int32_t c = 0; c < size; c++) {
        largest = largest < row[c] ? row[c] : largest;
    }
    return largest;
}

static void softmax(const float *in, float *out, int32_t size, float beta) {
    const float largest = largest_of(in, size);
    float sum = 0;
    for (int32_t c = 0; c < size; c++) {
        const float below = in[c] - largest;
        const float scaled = below * beta;
        out[c] = qn_exp_f32(scaled);
        sum += out[c];
    }
    for (int32_t c = 0; c < size; c++) {
        out[c] = out[c] / sum;
    }
}

static void log_softmax(const float *in, float *out, int32_t size) {
    const float largest = largest_of(in, size);
    float sum = 0;
    for (int32_t c = 0; c < size; c++) {
        const float below = in[c] - largest;
        sum += qn_exp_f32(below);
    }
    const float log_sum = qn_log_f32(sum);
    for (int32_t c = 0; c < size; c++) {
        const float below = in[c] - largest;
        out[c] = below - log_sum;
    }
}

int s_float_softmax_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_softmax *p = params;
    const float beta = qn_float_of_bits((uint32_t)p->beta_bits);
    const float *in = b->in[0];
    float *out = b->out;
    for (int32_t r = 0; r < p->num_rows; r++, in += p->row_size, out += p->row_size) {
        if (p->is_log) {
            log_softmax(in, out, p->row_size);
        } else {
            softmax(in, out, p->row_size, beta);
        }
    }
    return QN_OK;
}
