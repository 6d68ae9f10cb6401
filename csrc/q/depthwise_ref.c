/* Depthwise convolution, plain. */
#include "depthwise.h"

int q_depthwise_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    int status = q_window_check(p, 1, p->ch_im_in, 1, sizes, why);
    if (status == QN_OK && p->ch_im_in != p->ch_im_out) {
        return qn_deny(why, QN_SIZE_MISMATCH,
                       "ch_im_out must be ch_im_in, is %ld for %ld; use a convolution",
                       (long)p->ch_im_out, (long)p->ch_im_in);
    }
    if (status == QN_OK && qn_is_dsp(p->profile) &&
        (int64_t)p->dim_kernel_x * p->dim_kernel_y > UINT16_MAX) {
        return qn_deny(why, QN_REFUSED,
                       "dim_kernel_x * dim_kernel_y must be at most 65535 on a core with the DSP "
                       "extension");
    }
    return status;
}

/* Channels are contiguous in image and weights, so a block of them is summed at a time. */
enum { BLOCK = 32 };

static void pixel(const qn_conv *p, const qn_buffers *b, q_window w, int32_t from, int32_t count,
                  int8_t *out) {
    const int8_t *bias = b->bias;
    uint32_t acc[BLOCK];
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t c = 0; c < count; c++) {
        acc[c] = qn_acc_start(bias[from + c], p->bias_shift, round_term);
    }
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        for (int32_t kx = w.kx0; kx < w.kx1; kx++) {
            const int8_t *in = b->in[0];
            const int8_t *weights = b->weights;
            in += q_window_pixel(p, w, ky, kx) * p->ch_im_in + from;
            weights += (ky * p->dim_kernel_x + kx) * p->ch_im_in + from;
            for (int32_t c = 0; c < count; c++) {
                acc[c] += (uint32_t)(in[c] * weights[c]);
            }
        }
    }
    for (int32_t c = 0; c < count; c++) {
        out[from + c] = qn_acc_q7(acc[c], p->out_shift);
    }
}

int q_depthwise_q7_ref(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++, out += p->ch_im_out) {
            q_window w = q_window_inside(p, y, x);
            for (int32_t c = 0; c < p->ch_im_out; c += BLOCK) {
                int32_t left = p->ch_im_out - c;
                pixel(p, b, w, c, left < BLOCK ? left : BLOCK, out);
            }
        }
    }
    return QN_OK;
}
