/* Pooling, plain: one pass over whole windows. */
#include "pool.h"

int q_maxpool_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_pool_check(params, 1, sizes, why);
}

int q_avepool_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return q_pool_check(params, 1, sizes, why);
}

int q_avepool_nonsquare_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_pool *p = params;
    if (qn_in_range("out_lshift", p->out_lshift, 0, 31, why) != QN_OK) {
        return QN_REFUSED;
    }
    return q_pool_check(p, 0, sizes, why);
}

static q_span window_x(const qn_pool *p, int32_t x) {
    return q_pool_window(x, p->stride_x, p->padding_x, p->dim_kernel_x, p->dim_im_in_x);
}

static q_span window_y(const qn_pool *p, int32_t y) {
    return q_pool_window(y, p->stride_y, p->padding_y, p->dim_kernel_y, p->dim_im_in_y);
}

static int8_t window_maximum(const qn_pool *p, const int8_t *in, q_span ys, q_span xs, int32_t c) {
    int8_t maximum = INT8_MIN;
    for (int32_t y = ys.start; y < ys.stop; y++) {
        for (int32_t x = xs.start; x < xs.stop; x++) {
            int8_t value = in[(y * p->dim_im_in_x + x) * p->ch_im_in + c];
            maximum = value > maximum ? value : maximum;
        }
    }
    return maximum;
}

static int32_t window_sum(const qn_pool *p, const int8_t *in, q_span ys, q_span xs, int32_t c) {
    uint32_t sum = 0;
    for (int32_t y = ys.start; y < ys.stop; y++) {
        for (int32_t x = xs.start; x < xs.stop; x++) {
            int32_t value = in[(y * p->dim_im_in_x + x) * p->ch_im_in + c];
            sum += (uint32_t)value;
        }
    }
    return qn_wrap32(sum);
}

/* The count is at most 2^31 - 1, the largest image; 0 for an empty window. */
static int32_t window_count(q_span ys, q_span xs) {
    return ys.start < ys.stop && xs.start < xs.stop ? (ys.stop - ys.start) * (xs.stop - xs.start)
                                                    : 0;
}

int q_maxpool_q7_ref(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    int8_t *out = b->out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        q_span ys = window_y(p, y);
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            q_span xs = window_x(p, x);
            int empty = window_count(ys, xs) == 0;
            for (int32_t c = 0; c < p->ch_im_in; c++) {
                /* The device starts at -129, in a q7 127. */
                *out++ = empty ? INT8_MAX : window_maximum(p, b->in[0], ys, xs, c);
            }
        }
    }
    return QN_OK;
}

static void average(const qn_pool *p, int out_lshift, const int8_t *in, int8_t *out) {
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        q_span ys = window_y(p, y);
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            q_span xs = window_x(p, x);
            int32_t count = window_count(ys, xs);
            for (int32_t c = 0; c < p->ch_im_in; c++) {
                int32_t sum = qn_wrap32(qn_shl(window_sum(p, in, ys, xs, c), out_lshift));
                *out++ = qn_wrap8(count ? sum / count : 0); /* SDIV by 0 gives 0 */
            }
        }
    }
}

int q_avepool_q7_ref(const void *params, const qn_buffers *b) {
    average(params, 0, b->in[0], b->out);
    return QN_OK;
}

int q_avepool_nonsquare_q7_ref(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    average(p, p->out_lshift, b->in[0], b->out);
    return QN_OK;
}

int q_pool_split(void *params, qn_extent *extent) {
    qn_pool *p = params;
    *extent = (qn_extent){
        .y = {&p->dim_im_in_y, &p->dim_im_out_y, &p->padding_y, p->dim_kernel_y, p->stride_y, 1},
        .x = {&p->dim_im_in_x, &p->dim_im_out_x, &p->padding_x, p->dim_kernel_x, p->stride_x, 1},
        .step = 1,
    };
    return QN_OK;
}
