/* Convolutions of 5.6.0 without the DSP extension, plain: the input coordinates have 8 bits. */
#include "convolve.h"
#include "dot.h"

/* Return the index of the pixel at a tap's wrapped coordinates, or -1 outside the image. */
static int32_t pixel_under(const qn_conv *p, q_window w, int32_t ky, int32_t kx) {
    int32_t y = qn_wrap8(w.y + ky);
    int32_t x = qn_wrap8(w.x + kx);
    int inside = y >= 0 && y < p->dim_im_in_y && x >= 0 && x < p->dim_im_in_x;
    return inside ? y * p->dim_im_in_x + x : -1;
}

int q_convolve_q7_ref560(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    if (!q_convolve_wraps(p)) {
        return q_convolve_q7_ref(params, b);
    }
    const int8_t *in = b->in[0];
    const int8_t *bias = b->bias;
    int8_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            q_window w = q_window_whole(p, y, x);
            const int8_t *weights = b->weights;
            for (int32_t o = 0; o < p->ch_im_out; o++) {
                uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
                for (int32_t ky = 0; ky < p->dim_kernel_y; ky++) {
                    for (int32_t kx = 0; kx < p->dim_kernel_x; kx++, weights += p->ch_im_in) {
                        int32_t pixel = pixel_under(p, w, ky, kx);
                        if (pixel >= 0) {
                            acc += q_dot_q7(in + pixel * p->ch_im_in, weights, p->ch_im_in);
                        }
                    }
                }
                *out++ = qn_acc_q7(acc, p->out_shift);
            }
        }
    }
    return QN_OK;
}

int q_convolve_q15_ref560(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    if (!q_convolve_wraps(p)) {
        return q_convolve_q15_ref(params, b);
    }
    const int16_t *in = b->in[0];
    const int16_t *bias = b->bias;
    int16_t *out = b->out;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            q_window w = q_window_whole(p, y, x);
            const int16_t *weights = b->weights;
            for (int32_t o = 0; o < p->ch_im_out; o++) {
                uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
                for (int32_t ky = 0; ky < p->dim_kernel_y; ky++) {
                    for (int32_t kx = 0; kx < p->dim_kernel_x; kx++, weights += p->ch_im_in) {
                        int32_t pixel = pixel_under(p, w, ky, kx);
                        if (pixel >= 0) {
                            acc += q_dot_q15(in + pixel * p->ch_im_in, weights, p->ch_im_in);
                        }
                    }
                }
                *out++ = qn_acc_q15(acc, p->out_shift);
            }
        }
    }
    return QN_OK;
}
