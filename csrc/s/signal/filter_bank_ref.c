/* The filter bank of the Signal library, plain. */
#include "filter_bank.h"

/* One vector in, one out: bytes of their elements. */
static int vector_check(int32_t length, int64_t in, int64_t out, qn_sizes *sizes, char *why) {
    sizes->in[0] = length * in;
    sizes->out = length * out;
    return qn_in_range("length", length, 1, (int32_t)(INT32_MAX / (in > out ? in : out)), why);
}

int s_signal_filter_bank_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_filter_bank *p = params;
    const s_range all[] = {
        {"length", p->length, 1, INT32_MAX / 4},
        {"num_channels", p->num_channels, 1, UINT16_MAX},
        {"num_weights", p->num_weights, 1, INT32_MAX / 8},
    };
    sizes->in[0] = (int64_t)p->length * 4;
    sizes->weights = ((int64_t)p->num_weights * 2 + ((int64_t)p->num_channels + 1) * 3) * 2;
    sizes->out = (int64_t)p->num_channels * 8;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_signal_filter_bank_u32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_filter_bank *p = params;
    const uint32_t *in = b->in[0];
    const s_filter_tables t = s_filter_tables_of(p, b->weights);
    uint64_t *out = b->out, weighted = 0;
    for (int32_t c = 0; c <= p->num_channels; c++) {
        uint64_t unweighted = 0;
        for (int32_t j = 0; j < t.widths[c]; j++) {
            const int32_t at = t.starts[c] + j, w = t.weight_starts[c] + j;
            if (at >= 0 && at < p->length && w >= 0 && w < p->num_weights) {
                weighted += (uint64_t)(int64_t)t.weights[w] * in[at];
                unweighted += (uint64_t)(int64_t)t.unweights[w] * in[at];
            }
        }
        if (c > 0) {
            out[c - 1] = weighted;
        }
        weighted = unweighted;
    }
    return QN_OK;
}

int s_signal_square_root_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[1] = 4;
    return vector_check(p->length, 8, 4, sizes, why);
}

/* The root is floor(sqrt(x)) after the loop; the next integer is nearer where x > root^2 + root. */
static uint32_t square_root(uint64_t x) {
    const uint64_t most = x >> 32 ? UINT32_MAX : UINT16_MAX;
    uint64_t root = 0;
    for (int bit = 31; bit >= 0; bit--) {
        const uint64_t next = root | UINT64_C(1) << bit;
        root = next * next <= x ? next : root;
    }
    return (uint32_t)(root < most && x - root * root > root ? root + 1 : root);
}

int s_signal_square_root_u64_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const uint64_t *in = b->in[0];
    const uint32_t shift = *(const uint32_t *)b->in[1] & 255;
    uint32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = shift < 32 ? qn_lsr(square_root(in[i]), (int)shift) : 0;
    }
    return QN_OK;
}

int s_signal_subtraction_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_subtraction *p = params;
    const s_range all[] = {
        {"smoothing_bits", p->smoothing_bits, 0, 31},
        {"spectral_subtraction_bits", p->spectral_subtraction_bits, 0, 63},
        {"clamping", p->clamping, 0, 1},
    };
    sizes->in[1] = (int64_t)p->length * 4;
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    return status == QN_OK ? vector_check(p->length, 4, 4, sizes, why) : status;
}

static uint32_t subtracted(const qn_signal_subtraction *p, int32_t channel, uint32_t in,
                           uint32_t *noise) {
    const uint32_t s = (uint32_t)(channel % 2 ? p->alternate_smoothing : p->smoothing);
    const uint32_t t =
        (uint32_t)(channel % 2 ? p->alternate_one_minus_smoothing : p->one_minus_smoothing);
    const int bits = p->spectral_subtraction_bits;
    const uint32_t x = in << p->smoothing_bits;
    const uint32_t estimate = (uint32_t)(((uint64_t)x * s + (uint64_t)*noise * t) >> bits);
    const uint32_t taken = estimate < x ? estimate : x;
    const uint32_t least = (uint32_t)((uint64_t)in * (uint32_t)p->min_signal_remaining >> bits);
    const uint32_t left = qn_lsr(x - taken, p->smoothing_bits);
    *noise = p->clamping ? taken : estimate;
    return left > least ? left : least;
}

int s_signal_subtraction_u32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_subtraction *p = params;
    const uint32_t *in = b->in[0];
    uint32_t *noise = b->in[1], *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = subtracted(p, i, in[i], noise + i);
    }
    return QN_OK;
}

int s_signal_noise_estimate_u32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_subtraction *p = params;
    const uint32_t *in = b->in[0];
    uint32_t *noise = b->in[1], *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        subtracted(p, i, in[i], noise + i);
        out[i] = noise[i];
    }
    return QN_OK;
}

int s_signal_pcan_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_pcan *p = params;
    const s_range all[] = {
        {"lut_length", p->lut_length, S_PCAN_LUT, INT32_MAX / 2},
        {"snr_shift", p->snr_shift, 0, 63},
    };
    sizes->in[1] = (int64_t)p->length * 4;
    sizes->weights = (int64_t)p->lut_length * 2;
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    return status == QN_OK ? vector_check(p->length, 4, 4, sizes, why) : status;
}

static int16_t gain(const int16_t *lut, uint32_t noise) {
    if (noise <= 2) {
        return lut[noise];
    }
    const int bits = 32 - qn_leading_zeros(noise);
    const int16_t *t = lut + 4 * bits - 6;
    const uint32_t aligned = bits < 11 ? noise << (11 - bits) : qn_lsr(noise, bits - 11);
    const int32_t f = (int32_t)(aligned & 1023);
    const uint32_t slope = (uint32_t)qn_asr(t[2] * f, 5) + qn_shl(t[1], 5);
    const uint32_t rise = slope * (uint32_t)f + (1 << 14);
    return qn_wrap16(qn_add32(qn_asr(qn_wrap32(rise), 15), t[0]));
}

int s_signal_pcan_u32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_pcan *p = params;
    const uint32_t *in = b->in[0], *noise = b->in[1];
    uint32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const uint32_t g = (uint32_t)gain(b->weights, noise[i]);
        const uint32_t v = (uint32_t)((uint64_t)in[i] * g >> p->snr_shift);
        out[i] = v < 1 << 13 ? qn_lsr(v * v, 20) : qn_lsr(v, 6) - 64;
    }
    return QN_OK;
}

int s_signal_log_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_log *p = params;
    const int status = qn_in_range("input_correction_bits", p->input_correction_bits, 0, 31, why);
    return status == QN_OK ? vector_check(p->length, 4, 2, sizes, why) : status;
}

static uint32_t logarithm(uint32_t x, uint32_t scale) {
    const int k = 31 - qn_leading_zeros(x);
    const uint32_t rest = x - (UINT32_C(1) << k);
    const int32_t f = (int32_t)(k < 16 ? rest << (16 - k) : qn_lsr(rest, k - 16));
    const int32_t i = qn_asr(f, 9), low = s_log_u16[i], high = s_log_u16[i + 1];
    const int32_t curve = low + qn_asr((high - low) * (f - 512 * i), 16);
    const uint64_t binary = (uint64_t)((k << 16) + f + curve);
    const uint32_t natural = (uint32_t)((45426 * binary + (1 << 15)) >> 16);
    return qn_lsr(scale * natural + (1 << 15), 16);
}

int s_signal_log_u32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_log *p = params;
    const uint32_t *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const uint32_t x = in[i] << p->input_correction_bits;
        const uint32_t found = x > 1 ? logarithm(x, (uint32_t)p->output_scale) : 0;
        out[i] = (int16_t)(found < INT16_MAX ? found : INT16_MAX);
    }
    return QN_OK;
}
