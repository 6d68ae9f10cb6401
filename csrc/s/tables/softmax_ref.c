/* Softmax of 8-bit rows, plain. */
#include "softmax.h"

static int check(const qn_s_softmax *p, int64_t out, qn_sizes *sizes, char *why) {
    int status = s_softmax_check(p, 1, out, 0, 31, sizes, why);
    return status != QN_OK
               ? status
               : qn_in_range("diff_min", p->diff_min, qn_asr(INT32_MIN, p->shift), INT32_MAX, why);
}

int s_softmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int s_softmax_s8_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

/* An element as its type has it, s8 or u8. */
typedef int32_t s_reader(const void *in, int64_t i);

static int32_t read_s8(const void *in, int64_t i) { return ((const int8_t *)in)[i]; }
static int32_t read_u8(const void *in, int64_t i) { return ((const uint8_t *)in)[i]; }

/* One row of an input: where it starts, what is known of it. */
typedef struct row {
    const qn_s_softmax *p;
    const void *in;
    s_reader *read;
    int64_t start;
    int32_t most, headroom, reciprocal;
} row;

/* e^d in Q0.31 of element i; -1 where d is below diff_min. */
static int32_t power(const row *r, int32_t i) {
    int32_t d = r->read(r->in, r->start + i) - r->most;
    if (d < r->p->diff_min) {
        return -1;
    }
    return qn_exp_negative(qn_hm(qn_wrap32(qn_shl(d, r->p->shift)), r->p->mult), 5);
}

static row row_at(const qn_s_softmax *p, const void *in, s_reader *read, int64_t start) {
    row r = {p, in, read, start, read(in, start), 0, 0};
    for (int32_t i = 1; i < p->row_size; i++) {
        int32_t x = read(in, start + i);
        r.most = x > r.most ? x : r.most;
    }
    int32_t sum = 0; /* at most 4095 * 2^19 */
    for (int32_t i = 0; i < p->row_size; i++) {
        int32_t e = power(&r, i);
        sum += e < 0 ? 0 : qn_rdp(e, 12);
    }
    r.headroom = qn_leading_zeros((uint32_t)sum);
    if (sum > 0) { /* or there is nothing to divide */
        r.reciprocal = qn_reciprocal(qn_sub32(qn_wrap32(qn_shl(sum, r.headroom)), INT32_MIN));
    }
    return r;
}

/* The output above the lowest one; bits: of the output. vector: with Helium's division. */
static int32_t share(const row *r, int32_t i, int bits, int vector) {
    int32_t e = power(r, i);
    int n = 43 - bits - r->headroom;
    if (e < 0) {
        return 0;
    }
    return n < 32 ? qn_rdp(qn_hm(r->reciprocal, e), n) : vector ? 0 : 1;
}

/* In place: an output never lies after the inputs that are still to be read. */
static int softmax_s8(const qn_s_softmax *p, const qn_buffers *b, int32_t vectors) {
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++, out += p->row_size) {
        const row r = row_at(p, b->in[0], read_s8, (int64_t)n * p->row_size);
        for (int32_t i = 0; i < p->row_size; i++) {
            out[i] = qn_sat8(share(&r, i, 8, i < vectors) + INT8_MIN);
        }
    }
    return QN_OK;
}

int s_softmax_s8_ref(const void *params, const qn_buffers *b) { return softmax_s8(params, b, 0); }

int s_softmax_s8_mve(const void *params, const qn_buffers *b) {
    const qn_s_softmax *p = params;
    return softmax_s8(p, b, p->row_size / 4 * 4);
}

int s_softmax_s8_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_softmax *p = params;
    int16_t *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++, out += p->row_size) {
        const row r = row_at(p, b->in[0], read_s8, (int64_t)n * p->row_size);
        for (int32_t i = 0; i < p->row_size; i++) {
            out[i] = qn_sat16(share(&r, i, 16, 0) + INT16_MIN);
        }
    }
    return QN_OK;
}

int s_softmax_u8_ref(const void *params, const qn_buffers *b) {
    const qn_s_softmax *p = params;
    uint8_t *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++, out += p->row_size) {
        const row r = row_at(p, b->in[0], read_u8, (int64_t)n * p->row_size);
        for (int32_t i = 0; i < p->row_size; i++) {
            out[i] = (uint8_t)qn_clamp(share(&r, i, 8, 0), 0, UINT8_MAX);
        }
    }
    return QN_OK;
}
