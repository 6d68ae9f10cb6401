/* Windows, scaling and energy of the Signal library, plain. */
#include "spectrum.h"

int s_signal_window_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_window *p = params;
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX / 2},
        {"size", p->size, 1, INT32_MAX / 2 / (p->outer > 1 ? p->outer : 1)},
        {"right_shift", p->right_shift, 0, 31},
    };
    sizes->weights = (int64_t)p->size * 2;
    sizes->in[0] = sizes->out = (int64_t)p->outer * p->size * 2;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_signal_window_s16_ref(const void *params, const qn_buffers *b) {
    const qn_signal_window *p = params;
    const int16_t *in = b->in[0], *weights = b->weights;
    int16_t *out = b->out;
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->size; i++) {
            *out++ = qn_sat16(qn_asr(*in++ * weights[i], p->right_shift));
        }
    }
    return QN_OK;
}

static int scale_check(const qn_signal_scale *p, char *why) {
    const s_range all[] = {
        {"length", p->length, 1, INT32_MAX / 2},
        {"skips_lowest", p->skips_lowest, 0, 1},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_signal_auto_scale_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_scale *p = params;
    sizes->in[0] = sizes->out = (int64_t)p->length * 2;
    sizes->in_place = 1;
    return scale_check(p, why);
}

int s_signal_scale_bits_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_scale *p = params;
    sizes->in[0] = (int64_t)p->length * 2;
    sizes->out = 4;
    return scale_check(p, why);
}

static int32_t scale_bits(const qn_signal_scale *p, const int16_t *in) {
    int16_t most = 0;
    for (int32_t i = 0; i < p->length; i++) {
        if (in[i] > most) {
            most = in[i];
        } else if (-in[i] > most && !(p->skips_lowest && in[i] == INT16_MIN)) {
            most = qn_wrap16(-in[i]);
        }
    }
    return most > 0 || p->skips_lowest ? qn_leading_zeros((uint32_t)most) - 17 : 0;
}

int s_signal_auto_scale_s16_ref(const void *params, const qn_buffers *b) {
    const qn_signal_scale *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    const int32_t bits = scale_bits(p, in);
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap16(qn_wrap32(qn_shl(in[i], bits)));
    }
    return QN_OK;
}

int s_signal_scale_bits_s16_ref(const void *params, const qn_buffers *b) {
    *(int32_t *)b->out = scale_bits(params, b->in[0]);
    return QN_OK;
}

int s_signal_features_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[0] = (int64_t)p->length * 2;
    sizes->out = p->length;
    return qn_in_range("length", p->length, 1, INT32_MAX / 2, why);
}

int s_signal_features_s16_s8_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int16_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_sat8((256 * in[i] + 333) / 666 - 128);
    }
    return QN_OK;
}

int s_signal_energy_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_energy *p = params;
    const s_range all[] = {
        {"length", p->length, 1, INT32_MAX / 4},
        {"end_index", p->end_index, 0, p->length},
        {"start_index", p->start_index, 0, p->end_index},
    };
    sizes->in[0] = sizes->out = (int64_t)p->length * 4;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_signal_energy_s16_ref(const void *params, const qn_buffers *b) {
    const qn_signal_energy *p = params;
    const int16_t *in = b->in[0];
    uint32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const int32_t real = in[2 * i], imaginary = in[2 * i + 1];
        const int counts = i >= p->start_index && i < p->end_index;
        out[i] = counts ? (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary) : 0;
    }
    return QN_OK;
}
