/* q7 convolutions as the DSP extension computes them: im2col into two q15 columns, and a matrix
 * product as soon as both are full. */
#include <string.h>

#include "../common/arm_dsp.h"
#include "convolve.h"
#include "mat_mult.h"
#include "widen.h"

/* A conversion of the channels of one pixel to q15. */
typedef void widen(const int8_t *pixel, int32_t channels, int16_t *column);

/* Widen three channels loaded as one word. The device loads four bytes, one more than the last
 * pixel has. The code below drops the fourth byte, so loading three gives the same bits. */
static void widen_rgb(const int8_t *pixel, int32_t channels, int16_t *column) {
    uint32_t word = 0;
    memcpy(&word, pixel, (size_t)channels);
    uint32_t first, second;
    arm_expand(word, &first, &second);
    arm_store(column, first);
    column[2] = qn_wrap16(arm_low(second));
}

/* Copy a window into a column. ch_im_in is a multiple of 4 if columns are reordered, so no group of
 * four spans two pixels. */
static void im2col(const qn_conv *p, const int8_t *in, q_window w, widen *widen_pixel,
                   int16_t *column) {
    memset(column, 0, (size_t)q_convolve_row(p) * sizeof *column);
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        for (int32_t kx = w.kx0; kx < w.kx1; kx++) {
            const int8_t *pixel = in + q_window_pixel(p, w, ky, kx) * p->ch_im_in;
            widen_pixel(pixel, p->ch_im_in, column + (ky * p->dim_kernel_x + kx) * p->ch_im_in);
        }
    }
}

static int convolve(const qn_conv *p, const qn_buffers *b, q_window_rule *rule, widen *widen_pixel,
                    int order) {
    qn_mat_mult product = {p->profile, p->ch_im_out, q_convolve_row(p), p->bias_shift,
                           p->out_shift};
    int16_t *columns = b->scratch;
    int8_t *out = b->out;
    int filled = 0; /* columns; a pair of pixels may span two rows */
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            im2col(p, b->in[0], rule(p, y, x), widen_pixel, columns + filled * product.numCol_A);
            filled++;
            if (filled == 2) {
                out = q_mat_mult_two(&product, order, b->weights, b->bias, columns, out);
                filled = 0;
            }
        }
    }
    if (filled == 1) {
        q_mat_mult_one(&product, order, b->weights, b->bias, columns, out);
    }
    return QN_OK;
}

int q_convolve_q7_dsp(const void *params, const qn_buffers *b) {
    return convolve(params, b, q_window_inside, q_widen_in_order, Q_IN_ORDER);
}

int q_convolve_rgb_q7_dsp(const void *params, const qn_buffers *b) {
    return convolve(params, b, q_window_inside, widen_rgb, Q_IN_ORDER);
}

int q_convolve_fast_q7_dsp(const void *params, const qn_buffers *b) {
    return convolve(params, b, q_window_fast, q_widen_reordered, Q_REORDERED);
}

int q_convolve_1x1_fast_q7_dsp(const void *params, const qn_buffers *b) {
    return convolve(params, b, q_window_whole, q_widen_reordered, Q_REORDERED);
}

int64_t q_convolve_two_columns(const void *params) {
    return 2 * (int64_t)sizeof(int16_t) * q_convolve_row(params);
}
