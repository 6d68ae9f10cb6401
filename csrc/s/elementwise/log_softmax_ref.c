/* LOG_SOFTMAX of TensorFlow Lite Micro, plain. */
#include "log_softmax.h"

int s_log_softmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_log_softmax *p = params;
    const int32_t most = INT32_MAX / (p->row_size > 0 ? p->row_size : 1);
    const s_range all[] = {
        {"row_size", p->row_size, 1, 4095},
        {"num_rows", p->num_rows, 0, most},
        {"mult", p->mult, 0, INT32_MAX},
        {"shift", p->shift, 0, 30},
        {"reverse_mult", p->reverse_mult, 0, INT32_MAX},
        {"reverse_shift", p->reverse_shift, -31, 0},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = sizes->out = (int64_t)p->num_rows * p->row_size;
    sizes->in_place = 1;
    return qn_in_range("diff_min", p->diff_min, -qn_asr(31 << 26, p->shift), 0, why);
}

static int32_t sum_sat(int64_t a, int64_t b) {
    return (int32_t)qn_clamp64(a + b, INT32_MIN, INT32_MAX);
}

/* log(x) in Q5.26 of x > 0 in Q12.19. x = 2^e * r, where r is near sqrt(sqrt(1/2)), and
 *
 *   log(x) = e * log(2) + n / (1 + d),  e = the larger of two: 12 - z + 1/4, z the zeros before x, and
 *            12 - z' - 1/4, z' + 1 those before x * sqrt(1/2); r = the smaller of what belongs to them
 *   q = 2 * (r - sqrt(sqrt(1/2))),  p = (r + sqrt(sqrt(1/2))) / 2
 *   n = q * r + q^3 * a_n,  d = p * (a_i + q + a_d * q^2) + a_f * q
 *
 * all in Q0.31 by HM, but e and the sum, which are in Q6.25. */
static int32_t log_of(int32_t x) {
    const int32_t log2 = 1488522236, root_half = 1518500250, root_root_half = 1805811301;
    const int32_t a_n = 117049297, a_d = 127690142, a_i = 1057819769, a_f = 638450708;
    const int32_t quarter = 1 << 23;
    const int32_t z = qn_leading_zeros((uint32_t)x);
    const int32_t other = qn_leading_zeros((uint32_t)qn_hm_sat(x, root_half)) - 1;
    const int32_t r1 = qn_shl_sat(qn_hm_sat(qn_shl_sat(x, z - 1), root_half), 1);
    const int32_t r2 = qn_shl_sat(x, other), r = r1 < r2 ? r1 : r2;
    const int32_t e1 = sum_sat(qn_shl_sat(12 - z, 25), quarter);
    const int32_t e2 = sum_sat(qn_shl_sat(12 - other, 25), -quarter), e = e1 > e2 ? e1 : e2;

    const int32_t p = (int32_t)(((int64_t)r + root_root_half + 1) / 2);
    const int32_t away = qn_sub32(r, root_root_half), q = qn_add32(away, away);
    const int32_t q2 = qn_hm_sat(q, q);
    const int32_t n = qn_add32(qn_hm_sat(q, r), qn_hm_sat(qn_hm_sat(q, q2), a_n));
    const int32_t inner = qn_add32(qn_add32(a_i, q), qn_hm_sat(a_d, q2));
    const int32_t d = qn_add32(qn_hm_sat(p, inner), qn_hm_sat(a_f, q));
    const int32_t tail = qn_hm_sat(qn_rdp(n, 6), qn_reciprocal(d));
    return qn_shl_sat(qn_add32(qn_hm_sat(e, log2), tail), 1);
}

static int32_t stretched(const qn_s_log_softmax *p, int32_t d) {
    return s_tflm_requantize(p->profile, d, p->mult, p->shift);
}

static void row(const qn_s_log_softmax *p, const int8_t *in, int8_t *out) {
    int32_t most = INT8_MIN;
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->row_size; i++) {
        most = in[i] > most ? in[i] : most;
    }
    for (int32_t i = 0; i < p->row_size; i++) {
        if (in[i] - most >= p->diff_min) {
            sum += (uint32_t)qn_rdp(qn_exp_negative(stretched(p, in[i] - most), 5), 12);
        }
    }
    const int32_t log = log_of(qn_wrap32(sum));
    const int32_t reverse =
        s_tflm_requantize(p->profile, qn_add32(log, INT32_MIN), p->reverse_mult, p->reverse_shift);
    const int32_t least = reverse > p->diff_min - 1 ? reverse : p->diff_min - 1;
    for (int32_t i = 0; i < p->row_size; i++) {
        int32_t d = in[i] - most;
        int32_t value = d > least ? qn_rdp(qn_sub32(stretched(p, d), log), 22) + 127 : INT8_MIN;
        out[i] = qn_sat8(value);
    }
}

int s_log_softmax_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_log_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int64_t n = 0; n < p->num_rows; n++) {
        row(p, in + n * p->row_size, out + n * p->row_size);
    }
    return QN_OK;
}
