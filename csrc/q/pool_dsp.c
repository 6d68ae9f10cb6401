/* Pooling as the DSP path computes it: first each row of in[0] in place, then the rows of out.
 *
 * The first pixel of a window always counts. If the window starts before the image, this is the
 * output's own pixel in a row. In a column it is row 0, as it should be. */
#include "../common/arm_dsp.h"
#include "pool.h"

static q_span row_window(const qn_pool *p, int32_t x) {
    q_span window = q_pool_window(x, p->stride_x, p->padding_x, p->dim_kernel_x, p->dim_im_in_x);
    if (x * p->stride_x < p->padding_x) {
        window.start = x;
    }
    return window;
}

static q_span column_window(const qn_pool *p, int32_t y) {
    return q_pool_window(y, p->stride_y, p->padding_y, p->dim_kernel_y, p->dim_im_in_y);
}

/* Set best[i] to the larger of best[i] and values[i]. */
static void keep_larger(int8_t *best, const int8_t *values, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        best[i] = values[i] > best[i] ? values[i] : best[i];
    }
}

/* The first pixel overwrites pixel x before the other pixels are read, and they may include pixel
 * x. Whole groups of channels are compared; the channels after them keep the first pixel. */
static void maximum_of_row(const qn_pool *p, int8_t *row, int32_t group) {
    int32_t ch = p->ch_im_in;
    for (int32_t x = 0; x < p->dim_im_out_x; x++) {
        q_span window = row_window(p, x);
        memmove(row + x * ch, row + window.start * ch, (size_t)ch);
        for (int32_t k = window.start + 1; k < window.stop; k++) {
            keep_larger(row + x * ch, row + k * ch, ch / group * group);
        }
    }
}

static int maxpool(const qn_pool *p, const qn_buffers *b, int32_t group) {
    int8_t *in = b->in[0];
    int32_t row_in = p->dim_im_in_x * p->ch_im_in;
    int32_t row_out = p->dim_im_out_x * p->ch_im_in;
    for (int32_t y = 0; y < p->dim_im_in_y; y++) {
        maximum_of_row(p, in + y * row_in, group);
    }
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        int8_t *out = (int8_t *)b->out + y * row_out;
        q_span window = column_window(p, y);
        memcpy(out, in + window.start * row_in, (size_t)row_out);
        for (int32_t k = window.start + 1; k < window.stop; k++) {
            keep_larger(out, in + k * row_in, row_out / group * group);
        }
    }
    return QN_OK;
}

int q_maxpool_q7_dsp(const void *params, const qn_buffers *b) { return maxpool(params, b, 1); }

int q_maxpool_q7_dsp540(const void *params, const qn_buffers *b) { return maxpool(params, b, 4); }

int64_t q_avepool_q7_dsp_scratch(const void *params) {
    const qn_pool *p = params;
    return (int64_t)p->dim_im_out_x * p->ch_im_in * (int64_t)sizeof(int16_t);
}

/* Add values to sums, saturating except in the last count % 4: arm_nn_accumulate_q7_to_q15. */
static void accumulate(int16_t *sums, int8_t *values, int32_t count) {
    qn_vector vector = {.length = count};
    q_accumulate_q7_q15_dsp(&vector, &(qn_buffers){.in = {values, sums}, .out = sums});
}

/* Average the vectors from `start` to `stop`, `stride` apart. A sum beyond 127 * terms has wrapped
 * or saturated, so terms > 256 and the quotient is a q7. */
static void average(q_span window, int8_t *values, int32_t stride, int32_t count, int16_t *sums,
                    int8_t *out) {
    for (int32_t i = 0; i < count; i++) {
        sums[i] = values[window.start * stride + i];
    }
    int32_t terms = 1;
    for (int32_t k = window.start + 1; k < window.stop; k++, terms++) {
        accumulate(sums, values + k * stride, count);
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = qn_wrap8(sums[i] / terms);
    }
}

int q_avepool_q7_dsp(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    int8_t *in = b->in[0];
    int32_t ch = p->ch_im_in;
    int32_t row_in = p->dim_im_in_x * ch;
    int32_t row_out = p->dim_im_out_x * ch;
    for (int32_t y = 0; y < p->dim_im_in_y; y++) {
        int8_t *row = in + y * row_in;
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            average(row_window(p, x), row, ch, ch, b->scratch, row + x * ch);
        }
    }
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        int8_t *out = (int8_t *)b->out + y * row_out;
        average(column_window(p, y), in, row_in, row_out, b->scratch, out);
    }
    return QN_OK;
}
