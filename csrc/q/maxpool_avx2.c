/* Maximum pooling on AVX2: columns of each row of windows first, 32 values at a time. */
#include "pool_fast.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"
#include "edge_avx2.h"

/* out[i] = the maximum of the `count` values i of `terms` vectors, `step` bytes apart. Whole
 * vectors are read and written, but none over `end` and `out_end`. */
static void maximum(const int8_t *values, const int8_t *end, int64_t step, int32_t terms,
                    int32_t count, int8_t *out, const int8_t *out_end) {
    for (int32_t i = 0; i < count; i += 32, values += 32, out += 32) {
        int64_t room = end - values - (terms - 1) * step;
        __m256i best = load_32(values, room);
        for (int32_t k = 1; k < terms; k++) {
            best = _mm256_max_epi8(best, load_32(values + k * step, room));
        }
        store_32(out, out_end - out, best);
    }
}

/* The columns of a row of windows have become the row `columns`. What a pixel's vectors write
 * behind it, the next pixel overwrites. */
static void maximum_of_columns(const qn_pool *p, const int8_t *columns, int8_t *out,
                               const int8_t *out_end) {
    int32_t ch = p->ch_im_in;
    const int8_t *end = columns + (int64_t)p->dim_im_in_x * ch + SLACK;
    for (int32_t x = 0; x < p->dim_im_out_x; x++, out += ch) {
        q_span window = window_x(p, x);
        if (is_empty(window)) {
            memset(out, INT8_MAX, (size_t)ch);
            continue;
        }
        maximum(columns + (int64_t)window.start * ch, end, ch, window.stop - window.start, ch, out,
                out_end);
    }
}

int q_maxpool_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    int32_t row_in = p->dim_im_in_x * p->ch_im_in, row_out = p->dim_im_out_x * p->ch_im_in;
    const int8_t *in = b->in[0], *end = in + (int64_t)p->dim_im_in_y * row_in;
    int8_t *columns = b->scratch, *out = b->out;
    const int8_t *out_end = out + (int64_t)p->dim_im_out_y * row_out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++, out += row_out) {
        q_span window = window_y(p, y);
        if (is_empty(window)) {
            memset(out, INT8_MAX, (size_t)row_out);
            continue;
        }
        maximum(in + (int64_t)window.start * row_in, end, row_in, window.stop - window.start,
                row_in, columns, columns + row_in + SLACK);
        maximum_of_columns(p, columns, out, out_end);
    }
    return QN_OK;
}

int64_t q_maxpool_q7_avx2_columns(const void *params) {
    const qn_pool *p = params;
    int64_t bytes = (int64_t)p->dim_im_in_x * p->ch_im_in + SLACK;
    return windows_are_clipped(p) ? bytes : QN_NOT_TAKEN;
}

#include "../gemm/target_end.h"

#endif
