/* Softmax of ESP-NN, plain (esp_nn_softmax_s8).
 *
 * The formulas of ../tables/softmax.h, with two differences:
 *
 * - n = 35 - h counts modulo 32, as the processors shift: where S reaches 2^28 (512 classes as
 *   likely as the best), n = 32 acts as 0, so that all of these have 127; n = 33 acts as 1. S counts
 *   modulo 2^32, with sign.
 * - in_vectors (ESP32-S3, rows of 32 elements and more): the maximum is one of row elements -a to
 *   w - a - 1 and w to row_size - 1, with a = (input_align + row * row_size) modulo 16 and w =
 *   row_size rounded down to a multiple of 16. It may be missed, or be one of the row before. d is
 *   then above 0, and counts modulo 2^31 - 2^26 in e(d). Memory before the input counts as 0.
 *
 * Axes: num_rows rows of row_size elements, both 1..65535; mult not negative, shift 0..31,
 * diff_min as int32, input_align 0..15, in_vectors 0 or 1.
 * In place: no. Scratch: none. */
#include "../../common/elementary.h"
#include "../affine.h"
#include "kernels.h"

int s_esp_softmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_esp_softmax *p = params;
    const s_range all[] = {
        {"num_rows", p->num_rows, 1, UINT16_MAX}, {"row_size", p->row_size, 1, UINT16_MAX},
        {"mult", p->mult, 0, INT32_MAX},          {"shift", p->shift, 0, 31},
        {"input_align", p->input_align, 0, 15},   {"in_vectors", p->in_vectors, 0, 1},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = s_elements(1, (int32_t[]){p->num_rows, p->row_size}, 2);
    if (elements < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = sizes->out = elements;
    return QN_OK;
}

static int32_t largest(const int8_t *in, int64_t from, int64_t to, int32_t most) {
    for (int64_t i = from; i < to; i++) {
        int32_t x = i < 0 ? 0 : in[i];
        most = x > most ? x : most;
    }
    return most;
}

static int32_t maximum(const qn_s_esp_softmax *p, const int8_t *in, int64_t start) {
    if (!p->in_vectors || p->row_size < 32) {
        return largest(in, start, start + p->row_size, INT8_MIN);
    }
    const int32_t whole = p->row_size / 16 * 16;
    const int64_t from = start - (p->input_align + start) % 16;
    int32_t most = largest(in, from, from + whole, INT8_MIN);
    return largest(in, start + whole, start + p->row_size, most);
}

/* e(d) in Q0.31; -1 where d is below diff_min. A positive exponent has the bits of the negative one
 * with the same low 31 bits. */
static int32_t power(const qn_s_esp_softmax *p, int32_t d) {
    if (d < p->diff_min) {
        return -1;
    }
    int32_t t = qn_hm(qn_wrap32(qn_shl(d, p->shift)), p->mult);
    return qn_exp_negative(t > 0 ? t + INT32_MIN : t, 5);
}

int s_esp_softmax_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_esp_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++) {
        const int64_t start = (int64_t)n * p->row_size;
        const int32_t most = maximum(p, in, start);
        uint32_t sum = 0;
        for (int32_t i = 0; i < p->row_size; i++) {
            int32_t e = power(p, in[start + i] - most);
            sum += e < 0 ? 0 : (uint32_t)qn_rdp(e, 12);
        }
        const int headroom = qn_leading_zeros(sum);
        /* without a sum there is nothing to divide */
        const int32_t reciprocal =
            sum ? qn_reciprocal(qn_sub32(qn_wrap32(sum << headroom), INT32_MIN)) : 0;
        for (int32_t i = 0; i < p->row_size; i++) {
            int32_t e = power(p, in[start + i] - most);
            int32_t share = e < 0 ? 0 : qn_rdp(qn_hm(reciprocal, e), (35 - headroom) % 32);
            out[start + i] = qn_sat8(qn_add32(share, INT8_MIN));
        }
    }
    return QN_OK;
}
