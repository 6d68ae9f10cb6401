/* Maximum pooling on AVX2: the maximum over the image rows of a row of windows, then over columns;
 * 32 values at a time. */
#include <string.h>

#include "pool_fast.h"

#if QN_HAS_X86

#include "../gemm/unroll.h"

#include "../gemm/target_avx2.inc"

/* Return values 0..31 of the maximum of `terms` vectors, `step` bytes apart. */
QN_INLINE __m256i maximum_32(const int8_t *values, int64_t step, int32_t terms) {
    __m256i best = _mm256_loadu_si256((const __m256i *)values);
    for (int32_t k = 1; k < terms; k++) {
        __m256i next = _mm256_loadu_si256((const __m256i *)(values + k * step));
        best = _mm256_max_epi8(best, next);
    }
    return best;
}

/* Return the number of values, of `count`, that whole vectors read and write before `end` and
 * `out_end`. */
static inline int32_t whole(const int8_t *last_term, const int8_t *end, const int8_t *out,
                            const int8_t *out_end, int32_t count) {
    int64_t available = end - last_term < out_end - out ? end - last_term : out_end - out;
    int64_t vectors = (count + 31) / 32;
    return (int32_t)(available / 32 < vectors ? available / 32 : vectors) * 32;
}

/* Compute `count` maxima: out[i] is the maximum of value i of `terms` vectors, `step` bytes apart.
 * Whole vectors are read and written, but none beyond `end` and `out_end`. */
QN_INLINE void maximum(const int8_t *values, const int8_t *end, int64_t step, int32_t terms,
                       int32_t count, int8_t *out, const int8_t *out_end) {
    const int8_t *last_term = values + (terms - 1) * step;
    int32_t most = whole(last_term, end, out, out_end, count), i = 0;
    if (terms == 3) {
        for (; i < most; i += 32) {
            _mm256_storeu_si256((__m256i *)(out + i), maximum_32(values + i, step, 3));
        }
    } else if (terms == 2) {
        for (; i < most; i += 32) {
            _mm256_storeu_si256((__m256i *)(out + i), maximum_32(values + i, step, 2));
        }
    } else {
        for (; i < most; i += 32) {
            _mm256_storeu_si256((__m256i *)(out + i), maximum_32(values + i, step, terms));
        }
    }
    for (; i < count; i++) {
        int8_t best = values[i];
        for (int32_t k = 1; k < terms; k++) {
            best = values[i + k * step] > best ? values[i + k * step] : best;
        }
        out[i] = best;
    }
}

/* Compute adjacent windows inside the image: `step` bytes from one to the next, of `terms` pixels
 * of ch channels. A pixel's vectors also write bytes of the next pixel; the next pixel overwrites
 * them. */
QN_INLINE void maximum_of_windows(const int8_t *columns, int64_t step, int32_t terms, int32_t ch,
                                  int32_t count, int8_t *out) {
    for (int32_t x = 0; x < count; x++, columns += step, out += ch) {
        for (int32_t i = 0; i < ch; i += 32) {
            _mm256_storeu_si256((__m256i *)(out + i), maximum_32(columns + i, ch, terms));
        }
    }
}

/* Compute as many of `count` windows inside the image as whole vectors may write. Return their
 * number. */
static int32_t windows_inside(const qn_pool *p, const int8_t *columns, int32_t count, int8_t *out,
                              const int8_t *out_end) {
    const int32_t ch = p->ch_im_in;
    const int64_t step = (int64_t)p->stride_x * ch, room = out_end - out - (ch + 31) / 32 * 32;
    const int64_t most = room < 0 ? 0 : room / ch + 1;
    count = count < most ? count : (int32_t)most;
    if (p->dim_kernel_x == 2) {
        maximum_of_windows(columns, step, 2, ch, count, out);
    } else if (p->dim_kernel_x == 3) {
        maximum_of_windows(columns, step, 3, ch, count, out);
    } else {
        maximum_of_windows(columns, step, p->dim_kernel_x, ch, count, out);
    }
    return count;
}

/* Compute the window of one pixel. It may be partly or wholly outside the image. */
static void maximum_of_window(const qn_pool *p, const int8_t *columns, q_span window, int8_t *out,
                              const int8_t *out_end) {
    const int32_t ch = p->ch_im_in;
    const int8_t *end = columns + (int64_t)p->dim_im_in_x * ch + SLACK;
    if (is_empty(window)) {
        memset(out, INT8_MAX, (size_t)ch);
    } else {
        maximum(columns + (int64_t)window.start * ch, end, ch, window.stop - window.start, ch, out,
                out_end);
    }
}

/* Compute a row of outputs from `columns`, the maxima over the rows of its windows. */
static void maximum_of_columns(const qn_pool *p, const int8_t *columns, int8_t *out,
                               const int8_t *out_end) {
    const int32_t ch = p->ch_im_in, first = (p->padding_x + p->stride_x - 1) / p->stride_x;
    const int32_t last = p->dim_im_in_x + p->padding_x - p->dim_kernel_x; /* last start inside */
    const int32_t inside = last < 0 ? 0 : last / p->stride_x + 1;
    const int32_t stop = inside < p->dim_im_out_x ? inside : p->dim_im_out_x;
    int32_t x = 0;
    while (x < p->dim_im_out_x) {
        const q_span window = window_x(p, x);
        const int8_t *from = columns + (int64_t)window.start * ch;
        int8_t *to = out + (int64_t)x * ch;
        const int32_t count =
            x >= first && x < stop ? windows_inside(p, from, stop - x, to, out_end) : 0;
        if (count == 0) {
            maximum_of_window(p, columns, window, to, out_end);
        }
        x += count > 0 ? count : 1;
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

#include "../gemm/target_end.inc"

#endif
