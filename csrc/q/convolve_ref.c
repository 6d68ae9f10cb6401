/* Convolutions, plain: the taps of a window as one column of q15 values, times each filter. All
 * filters share the widened column. Taps outside the image are zeros in it. */
#include <string.h>

#include "convolve.h"
#include "dot.h"

/* Copy a window into a column. The taps kx0..kx1-1 of a kernel row, with all their channels, are
 * one run of the image. */
static void column_q7(const qn_conv *p, const int8_t *in, q_window w, int16_t *column) {
    memset(column, 0, (size_t)q_convolve_row(p) * sizeof *column);
    if (q_window_is_empty(w)) {
        return;
    }
    int32_t run = (w.kx1 - w.kx0) * p->ch_im_in;
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        const int8_t *pixels = in + q_window_pixel(p, w, ky, w.kx0) * p->ch_im_in;
        int16_t *taps = column + (ky * p->dim_kernel_x + w.kx0) * p->ch_im_in;
        for (int32_t i = 0; i < run; i++) {
            taps[i] = pixels[i];
        }
    }
}

static void column_q15(const qn_conv *p, const int16_t *in, q_window w, int16_t *column) {
    memset(column, 0, (size_t)q_convolve_row(p) * sizeof *column);
    if (q_window_is_empty(w)) {
        return;
    }
    int32_t run = (w.kx1 - w.kx0) * p->ch_im_in;
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        const int16_t *pixels = in + q_window_pixel(p, w, ky, w.kx0) * p->ch_im_in;
        int16_t *taps = column + (ky * p->dim_kernel_x + w.kx0) * p->ch_im_in;
        memcpy(taps, pixels, (size_t)run * sizeof *taps);
    }
}

static void filters_q7(const qn_conv *p, const qn_buffers *b, const int16_t *column, int8_t *out) {
    const int8_t *weights = b->weights;
    const int8_t *bias = b->bias;
    int32_t length = q_convolve_row(p);
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t o = 0; o < p->ch_im_out; o++, weights += length) {
        uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
        out[o] = qn_acc_q7(acc + q_dot_q7_q15(weights, column, length), p->out_shift);
    }
}

static void filters_q15(const qn_conv *p, const qn_buffers *b, const int16_t *column,
                        int16_t *out) {
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int32_t length = q_convolve_row(p);
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t o = 0; o < p->ch_im_out; o++, weights += length) {
        uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
        out[o] = qn_acc_q15(acc + q_dot_q15(weights, column, length), p->out_shift);
    }
}

static int convolve_q7(const qn_conv *p, const qn_buffers *b, q_window_rule *rule) {
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++, out += p->ch_im_out) {
            column_q7(p, b->in[0], rule(p, y, x), b->scratch);
            filters_q7(p, b, b->scratch, out);
        }
    }
    return QN_OK;
}

int q_convolve_q7_ref(const void *params, const qn_buffers *b) {
    return convolve_q7(params, b, q_window_inside);
}

int q_convolve_fast_q7_refdsp(const void *params, const qn_buffers *b) {
    return convolve_q7(params, b, q_window_fast);
}

int q_convolve_1x1_fast_q7_refdsp(const void *params, const qn_buffers *b) {
    return convolve_q7(params, b, q_window_whole);
}

int q_convolve_q15_ref(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int16_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++, out += p->ch_im_out) {
            column_q15(p, b->in[0], q_window_inside(p, y, x), b->scratch);
            filters_q15(p, b, b->scratch, out);
        }
    }
    return QN_OK;
}

int64_t q_convolve_one_column(const void *params) {
    return (int64_t)sizeof(int16_t) * q_convolve_row(params);
}
