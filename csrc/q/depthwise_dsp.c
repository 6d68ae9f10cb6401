/* Depthwise convolution as the DSP extension computes it: one window copied in q7, then four
 * channels at a time, two taps per SMLAD. */
#include <string.h>

#include "../common/arm_dsp.h"
#include "depthwise.h"

static void im2col(const qn_conv *p, const int8_t *in, q_window w, int8_t *window) {
    memset(window, 0, (size_t)(p->dim_kernel_y * p->dim_kernel_x * p->ch_im_in));
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        for (int32_t kx = w.kx0; kx < w.kx1; kx++) {
            memcpy(window + (ky * p->dim_kernel_x + kx) * p->ch_im_in,
                   in + q_window_pixel(p, w, ky, kx) * p->ch_im_in, (size_t)p->ch_im_in);
        }
    }
}

/* Sort channels 0..3 of one tap and the next by channel: word c has channel c at the tap (low half)
 * and at the next tap (high half). */
static void two_taps(const int8_t *values, int32_t channels, uint32_t words[4]) {
    uint32_t tap = arm_load(values);
    uint32_t next = arm_load(values + channels);
    uint32_t low = arm_pkhbt16(tap, next);  /* bytes 0 1 of both */
    uint32_t high = arm_pkhtb16(next, tap); /* bytes 2 3 of both */
    words[0] = arm_sxtb16(low);
    words[1] = arm_sxtb16_ror8(low);
    words[2] = arm_sxtb16(high);
    words[3] = arm_sxtb16_ror8(high);
}

static void four_channels(int32_t taps, int32_t channels, const int8_t *window,
                          const int8_t *weights, uint32_t acc[4]) {
    int32_t k = 0;
    for (; k + 2 <= taps; k += 2) {
        uint32_t a[4], w[4];
        two_taps(window + k * channels, channels, a);
        two_taps(weights + k * channels, channels, w);
        for (int c = 0; c < 4; c++) {
            acc[c] = arm_smlad(a[c], w[c], acc[c]);
        }
    }
    if (k < taps) {
        for (int c = 0; c < 4; c++) {
            acc[c] += (uint32_t)(window[k * channels + c] * weights[k * channels + c]);
        }
    }
}

static void all_channels(const qn_conv *p, const qn_buffers *b, int8_t *out) {
    const int8_t *window = b->scratch;
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int32_t taps = p->dim_kernel_y * p->dim_kernel_x;
    int32_t channels = p->ch_im_in;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        uint32_t acc[4];
        for (int i = 0; i < 4; i++) {
            acc[i] = qn_acc_start(bias[c + i], p->bias_shift, round_term);
        }
        four_channels(taps, channels, window + c, weights + c, acc);
        for (int i = 0; i < 4; i++) {
            out[c + i] = qn_acc_q7(acc[i], p->out_shift);
        }
    }
    for (; c < channels; c++) {
        uint32_t acc = qn_acc_start(bias[c], p->bias_shift, round_term);
        for (int32_t k = 0; k < taps; k++) {
            acc += (uint32_t)(window[k * channels + c] * weights[k * channels + c]);
        }
        out[c] = qn_acc_q7(acc, p->out_shift);
    }
}

int q_depthwise_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++, out += p->ch_im_out) {
            im2col(p, b->in[0], q_window_inside(p, y, x), b->scratch);
            all_channels(p, b, out);
        }
    }
    return QN_OK;
}

int64_t q_depthwise_window(const void *params) {
    const qn_conv *p = params;
    return (int64_t)p->dim_kernel_y * p->dim_kernel_x * p->ch_im_in;
}
