/* Convolutions, plain: one pixel at a time, over the taps that its window reads. */
#include "convolve.h"
#include "dot.h"

/* The taps kx0..kx1-1 of a kernel row, with all their channels, are one run of memory in the image
 * and one in the weights; so a pixel is the sum of ky1 - ky0 dot products. */
static void pixel_q7(const qn_conv *p, const qn_buffers *b, q_window w, int8_t *out) {
    const int8_t *in = b->in[0];
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t run = (w.kx1 - w.kx0) * p->ch_im_in;
    int32_t ky1 = q_window_is_empty(w) ? w.ky0 : w.ky1;
    for (int32_t o = 0; o < p->ch_im_out; o++) {
        uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
        for (int32_t ky = w.ky0; ky < ky1; ky++) {
            int64_t pixel = q_window_pixel(p, w, ky, w.kx0);
            int32_t tap = (o * p->dim_kernel_y + ky) * p->dim_kernel_x + w.kx0;
            acc += q_dot_q7(in + pixel * p->ch_im_in, weights + tap * p->ch_im_in, run);
        }
        out[o] = qn_acc_q7(acc, p->out_shift);
    }
}

static void pixel_q15(const qn_conv *p, const qn_buffers *b, q_window w, int16_t *out) {
    const int16_t *in = b->in[0];
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    int32_t run = (w.kx1 - w.kx0) * p->ch_im_in;
    int32_t ky1 = q_window_is_empty(w) ? w.ky0 : w.ky1;
    for (int32_t o = 0; o < p->ch_im_out; o++) {
        uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
        for (int32_t ky = w.ky0; ky < ky1; ky++) {
            int64_t pixel = q_window_pixel(p, w, ky, w.kx0);
            int32_t tap = (o * p->dim_kernel_y + ky) * p->dim_kernel_x + w.kx0;
            acc += q_dot_q15(in + pixel * p->ch_im_in, weights + tap * p->ch_im_in, run);
        }
        out[o] = qn_acc_q15(acc, p->out_shift);
    }
}

int q_convolve_q7_ref(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            pixel_q7(p, b, q_window_inside(p, y, x), out);
            out += p->ch_im_out;
        }
    }
    return QN_OK;
}

int q_convolve_q15_ref(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int16_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            pixel_q15(p, b, q_window_inside(p, y, x), out);
            out += p->ch_im_out;
        }
    }
    return QN_OK;
}

/* The DSP path: no rounding or order of its own, but windows that may overhang. */
int q_convolve_fast_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            pixel_q7(p, b, q_window_fast(p, y, x), out);
            out += p->ch_im_out;
        }
    }
    return QN_OK;
}

int q_convolve_1x1_fast_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            pixel_q7(p, b, q_window_whole(p, y, x), out);
            out += p->ch_im_out;
        }
    }
    return QN_OK;
}
