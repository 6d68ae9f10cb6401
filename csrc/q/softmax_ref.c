/* Softmax to the base 2, plain. Each row is read completely before its first output is written. */
#include "softmax.h"

int q_softmax_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_softmax_check(params, 1, 1, sizes, why);
}

int q_softmax_with_batch_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_softmax_check(params, UINT16_MAX, 1, sizes, why);
}

int q_softmax_q15_check(const void *params, qn_sizes *sizes, char *why) {
    return q_softmax_check(params, 1, 2, sizes, why);
}

static int32_t maximum_q7(const int8_t *row, int32_t count) {
    int32_t maximum = INT8_MIN;
    for (int32_t i = 0; i < count; i++) {
        maximum = row[i] > maximum ? row[i] : maximum;
    }
    return maximum;
}

static int32_t maximum_q15(const int16_t *row, int32_t count) {
    int32_t maximum = INT16_MIN;
    for (int32_t i = 0; i < count; i++) {
        maximum = row[i] > maximum ? row[i] : maximum;
    }
    return maximum;
}

/* 128 <= sum <= 32767 * 128: neither zero nor beyond 32 bits. */
static void softmax_q7(const int8_t *in, int8_t *out, int32_t count) {
    int32_t base = maximum_q7(in, count) - 8;
    uint32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += qn_shl(1, qn_usat(in[i] - base, 3));
    }
    int32_t whole = (int32_t)((1u << 20) / sum);
    for (int32_t i = 0; i < count; i++) {
        out[i] = qn_sat8(qn_asr(whole, qn_usat(13 + base - in[i], 5)));
    }
}

/* 256 <= sum <= 32767 * 256; the shift is 5..12 if x > base. */
static void softmax_q7_560(const int8_t *in, int8_t *out, int32_t count) {
    int32_t base = maximum_q7(in, count) - 8;
    uint32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += in[i] > base ? qn_shl(1, in[i] - base) : 0;
    }
    int32_t whole = (int32_t)((1u << 20) / sum);
    for (int32_t i = 0; i < count; i++) {
        out[i] = in[i] > base ? qn_sat8(qn_asr(whole, 13 + base - in[i])) : 0;
    }
}

/* 1 << shift as LSL computes it: modulo 256, 0 from 32 on. */
static int32_t power_530(int32_t shift) {
    uint32_t n = (uint32_t)shift & 0xff;
    return n < 32 ? qn_wrap32(qn_shl(1, (int)n)) : 0;
}

/* x / sum toward zero, and 0 for a sum of 0, as the SDIV of a Cortex-M. */
static int32_t quotient_530(int32_t x, int32_t sum) {
    return sum == 0 ? 0 : qn_wrap32((uint32_t)((int64_t)x / sum));
}

/* The base of 5.3.0: not below the lowest value of the row. */
static int32_t base_530(int32_t maximum, int32_t lowest, int32_t below) {
    return maximum - below > lowest ? maximum - below : lowest;
}

/* As 5.7.0 on DSP: the differences of the first count - count % 4 values have 8 bits. */
static void softmax_q7_570(const int8_t *in, int8_t *out, int32_t count) {
    int32_t base = maximum_q7(in, count) - 8, packed = count - count % 4;
    uint32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t above = in[i] - base;
        sum += qn_shl(1, qn_usat(i < packed ? qn_wrap8(above) : above, 3));
    }
    int32_t whole = (int32_t)((1u << 20) / sum);
    for (int32_t i = 0; i < count; i++) {
        int32_t shift = 13 + base - in[i];
        out[i] = qn_sat8(qn_asr(whole, qn_usat(i < packed ? qn_wrap8(shift) : shift, 5)));
    }
}

int q_softmax_q7_ref530(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    int32_t lowest = INT8_MAX;
    for (int32_t i = 0; i < p->dim_vec; i++) {
        lowest = in[i] < lowest ? in[i] : lowest;
    }
    int32_t base = base_530(maximum_q7(in, p->dim_vec), lowest, 8), sum = 0;
    for (int32_t i = 0; i < p->dim_vec; i++) {
        sum = qn_add32(sum, power_530(in[i] - base));
    }
    for (int32_t i = 0; i < p->dim_vec; i++) {
        out[i] = qn_sat8(qn_asr(quotient_530(power_530(in[i] - base + 20), sum), 13));
    }
    return QN_OK;
}

int q_softmax_q7_dsp570(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    softmax_q7_570(b->in[0], b->out, p->dim_vec);
    return QN_OK;
}

int q_softmax_with_batch_q7_dsp570(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t batch = 0; batch < p->nb_batches; batch++) {
        softmax_q7_570(in + batch * p->dim_vec, out + batch * p->dim_vec, p->dim_vec);
    }
    return QN_OK;
}

int q_softmax_q15_ref530(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int32_t lowest = INT16_MAX;
    for (int32_t i = 0; i < p->dim_vec; i++) {
        lowest = in[i] < lowest ? in[i] : lowest;
    }
    int32_t base = base_530(maximum_q15(in, p->dim_vec), lowest, 16), sum = 0;
    for (int32_t i = 0; i < p->dim_vec; i++) {
        sum = qn_add32(sum, power_530(in[i] - base));
    }
    for (int32_t i = 0; i < p->dim_vec; i++) {
        out[i] = qn_sat16(quotient_530(power_530(in[i] - base + 14), sum));
    }
    return QN_OK;
}

int q_softmax_q7_ref(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    softmax_q7(b->in[0], b->out, p->dim_vec);
    return QN_OK;
}

int q_softmax_q7_ref560(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    softmax_q7_560(b->in[0], b->out, p->dim_vec);
    return QN_OK;
}

int q_softmax_with_batch_q7_ref(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t batch = 0; batch < p->nb_batches; batch++) {
        softmax_q7(in + batch * p->dim_vec, out + batch * p->dim_vec, p->dim_vec);
    }
    return QN_OK;
}

/* 2^16 <= sum <= 32767 * 2^16 < 2^31, so 2 <= whole <= 2^16; the shift is 1..16 if x > base. */
int q_softmax_q15_ref(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int32_t base = maximum_q15(in, p->dim_vec) - 16;
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->dim_vec; i++) {
        sum += in[i] > base ? qn_shl(1, in[i] - base) : 0;
    }
    int32_t whole = (int32_t)((UINT64_C(1) << 32) / sum);
    for (int32_t i = 0; i < p->dim_vec; i++) {
        out[i] = in[i] > base ? qn_sat16(qn_asr(whole, 17 + base - in[i])) : 0;
    }
    return QN_OK;
}
