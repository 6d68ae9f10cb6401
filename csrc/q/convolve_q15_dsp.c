/* q15 convolutions as the DSP extension computes them: im2col, then SMLAD on pairs of taps. */
#include <string.h>

#include "../common/arm_dsp.h"
#include "convolve.h"

static void im2col(const qn_conv *p, const int16_t *in, q_window w, int16_t *column) {
    memset(column, 0, (size_t)q_convolve_row(p) * sizeof *column);
    for (int32_t ky = w.ky0; ky < w.ky1; ky++) {
        for (int32_t kx = w.kx0; kx < w.kx1; kx++) {
            const int16_t *pixel = in + q_window_pixel(p, w, ky, kx) * p->ch_im_in;
            memcpy(column + (ky * p->dim_kernel_x + kx) * p->ch_im_in, pixel,
                   (size_t)p->ch_im_in * sizeof *pixel);
        }
    }
}

/* Compute one output channel of one pixel at a time. */
int q_convolve_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    const int16_t *bias = b->bias;
    int16_t *column = b->scratch;
    int16_t *out = b->out;
    int32_t length = q_convolve_row(p);
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            im2col(p, b->in[0], q_window_inside(p, y, x), column);
            const int16_t *weights = b->weights;
            for (int32_t o = 0; o < p->ch_im_out; o++, weights += length) {
                uint32_t acc = qn_acc_start(bias[o], p->bias_shift, round_term);
                int32_t j = 0;
                for (; j + 2 <= length; j += 2) {
                    acc = arm_smlad(arm_load(weights + j), arm_load(column + j), acc);
                }
                if (j < length) {
                    acc += (uint32_t)(weights[j] * column[j]);
                }
                *out++ = qn_acc_q15(acc, p->out_shift);
            }
        }
    }
    return QN_OK;
}

/* Multiply two columns by two rows of weights. The length and the number of rows are even. Return
 * the end of the output. */
static int16_t *two_columns(const qn_conv *p, const qn_buffers *b, const int16_t *columns,
                            int16_t *out) {
    const int16_t *weights = b->weights;
    const int16_t *bias = b->bias;
    int32_t length = q_convolve_row(p);
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    for (int32_t o = 0; o < p->ch_im_out; o += 2, weights += 2 * length) {
        uint32_t even = qn_acc_start(bias[o], p->bias_shift, round_term);
        uint32_t odd = qn_acc_start(bias[o + 1], p->bias_shift, round_term);
        uint32_t acc[2][2] = {{even, even}, {odd, odd}};
        for (int32_t j = 0; j < length; j += 2) {
            for (int r = 0; r < 2; r++) {
                uint32_t taps = arm_load(weights + r * length + j);
                acc[r][0] = arm_smlad(taps, arm_load(columns + j), acc[r][0]);
                acc[r][1] = arm_smlad(taps, arm_load(columns + length + j), acc[r][1]);
            }
        }
        for (int c = 0; c < 2; c++) {
            out[c * p->ch_im_out + o] = qn_acc_q15(acc[0][c], p->out_shift);
            out[c * p->ch_im_out + o + 1] = qn_acc_q15(acc[1][c], p->out_shift);
        }
    }
    return out + 2 * p->ch_im_out;
}

/* Compute two pixels at a time. Both are in one row because dim_im_out_x is even. */
int q_convolve_fast_q15_dsp(const void *params, const qn_buffers *b) {
    const qn_conv *p = params;
    int16_t *columns = b->scratch;
    int16_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        for (int32_t x = 0; x < p->dim_im_out_x; x += 2) {
            im2col(p, b->in[0], q_window_inside(p, y, x), columns);
            im2col(p, b->in[0], q_window_inside(p, y, x + 1), columns + q_convolve_row(p));
            out = two_columns(p, b, columns, out);
        }
    }
    return QN_OK;
}
