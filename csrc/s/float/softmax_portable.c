/* SOFTMAX of float32 with exponentials of doubles; where these do not say how the float is
 * rounded, real.h does. */
#include "softmax.h"

/* e^x = 2^n * e^r, |r| <= ln(2) / 2, of 14 terms: the error is far below 2^-40 of the result. What
 * is that much less and that much more are rounded to the same float32, but once in 2^15 numbers.
 * */
static inline float exponential(float x) {
    static const double inverse[] = {
        1.0,
        1.0,
        1.0 / 2,
        1.0 / 6,
        1.0 / 24,
        1.0 / 120,
        1.0 / 720,
        1.0 / 5040,
        1.0 / 40320,
        1.0 / 362880,
        1.0 / 3628800,
        1.0 / 39916800,
        1.0 / 479001600,
    };
    if (!(x > -104 && x < 88)) {
        return qn_exp_f32(x);
    }
    int n;
    const double r = qn_minus_ln2(x, &n).hi;
    double power = 1.0 / 6227020800;
    for (int k = 12; k >= 0; k--) {
        power = power * r + inverse[k];
    }
    power *= qn_power_of_two(n);
    const float low = (float)(power - power * 0x1p-40), high = (float)(power + power * 0x1p-40);
    return low == high ? low : qn_exp_f32(x);
}

int s_float_softmax_portable(const void *params, const qn_buffers *b) {
    const qn_s_float_softmax *p = params;
    const float beta = p->is_log ? 1.0f : qn_float_of_bits((uint32_t)p->beta_bits);
    const float *in = b->in[0];
    float *out = b->out;
    for (int32_t row = 0; row < p->num_rows; row++, in += p->row_size, out += p->row_size) {
        float largest = -FLT_MAX, sum = 0;
        for (int32_t c = 0; c < p->row_size; c++) {
            largest = largest < in[c] ? in[c] : largest;
        }
        for (int32_t c = 0; c < p->row_size; c++) {
            const float below = in[c] - largest;
            const float power = exponential(below * beta);
            out[c] = p->is_log ? below : power;
            sum += power;
        }
        const float log_sum = p->is_log ? qn_log_f32(sum) : 0;
        for (int32_t c = 0; c < p->row_size; c++) {
            out[c] = p->is_log ? out[c] - log_sum : out[c] / sum;
        }
    }
    return QN_OK;
}
