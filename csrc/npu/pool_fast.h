/* Pooling of the NPU on AVX2: the rows under a row of windows first, then the columns of these.
 * Included by pool_<type>_avx2.c after `element`, LEAST, MOST and larger(), the maximum of vectors. */
#ifndef QN_NPU_POOL_FAST_H
#define QN_NPU_POOL_FAST_H

#include <string.h>

#include "pool.h"

/* Bytes of a vector, which may reach over an array in scratch; the widest exact `up`. */
enum { VECTOR = 32, SLACK = 64, MOST_UP = 22 };

/* The taps first <= k < stop of window o of an axis that lie in the image. */
typedef struct taps {
    int64_t from; /* of tap 0 in the image */
    int32_t first, stop;
} taps;

static inline taps taps_of(int32_t o, int32_t stride, int32_t pad, int32_t kernel, int32_t dilation,
                           int32_t in) {
    taps t = {(int64_t)o * stride - pad, 0, kernel};
    while (t.first < kernel && t.from + (int64_t)t.first * dilation < 0) {
        t.first++;
    }
    while (t.stop > t.first && t.from + (int64_t)(t.stop - 1) * dilation >= in) {
        t.stop--;
    }
    return t;
}
static inline taps taps_y(const qn_npu_pool *p, int32_t y) {
    return taps_of(y, p->stride_h, p->pad_n, p->kernel_h, p->dilation_h, p->in_h);
}
static inline taps taps_x(const qn_npu_pool *p, int32_t x) {
    return taps_of(x, p->stride_w, p->pad_w, p->kernel_w, p->dilation_w, p->in_w);
}

static inline int64_t row_length(const qn_npu_pool *p) { return (int64_t)p->in_w * p->channels; }

static const element *row_under(const qn_npu_pool *p, const element *in, taps t, int32_t k) {
    return in + (t.from + (int64_t)k * p->dilation_h) * row_length(p);
}

/* Bytes of a row of the image in scratch, from which vectors are read over its end. */
static inline int64_t row_bytes(const qn_npu_pool *p, int64_t each) {
    return (row_length(p) * each + SLACK) / SLACK * SLACK + SLACK;
}

static int64_t maximum_scratch(const qn_npu_pool *p) {
    int64_t out = (int64_t)p->out_w * p->channels * (int64_t)sizeof(element);
    return row_bytes(p, sizeof(element)) + out + SLACK;
}

static void maximum_of_rows(const qn_npu_pool *p, const element *in, taps t,
                            element *restrict row) {
    int64_t length = row_length(p);
    for (int64_t i = 0; i < length; i++) {
        row[i] = LEAST;
    }
    for (int32_t k = t.first; k < t.stop; k++) {
        const element *restrict other = row_under(p, in, t, k);
        for (int64_t i = 0; i < length; i++) {
            row[i] = other[i] > row[i] ? other[i] : row[i];
        }
    }
}

/* What a pixel's vectors write behind it, the next pixel overwrites. */
static void maximum_of_columns(const qn_npu_pool *p, const element *row, element *out) {
    int64_t bytes = p->channels * (int64_t)sizeof(element), step = p->dilation_w * bytes;
    const char *from = (const char *)row;
    for (int32_t x = 0; x < p->out_w; x++) {
        taps t = taps_x(p, x);
        char *to = (char *)out + x * bytes;
        for (int64_t i = 0; i < bytes; i += VECTOR) {
            __m256i best = lowest();
            for (int32_t k = t.first; k < t.stop; k++) {
                int64_t at = t.from * bytes + k * step + i;
                best = larger(best, _mm256_loadu_si256((const __m256i *)(from + at)));
            }
            _mm256_storeu_si256((__m256i *)(to + i), best);
        }
    }
}

static int maximum(const qn_npu_pool *p, const qn_buffers *b) {
    element *row = b->scratch, *pixels = (element *)((char *)row + row_bytes(p, sizeof(element)));
    element *out = b->out;
    int64_t length = (int64_t)p->out_w * p->channels;
    for (int32_t y = 0; y < p->out_h; y++, out += length) {
        maximum_of_rows(p, b->in[0], taps_y(p, y), row);
        maximum_of_columns(p, row, pixels);
        memcpy(out, pixels, (size_t)length * sizeof(element));
    }
    return QN_OK;
}

/* Sums of a row of the image, and of one pixel. */
static int64_t average_scratch(const qn_npu_pool *p) {
    return p->up > MOST_UP ? QN_NOT_TAKEN : row_bytes(p, 4) + (int64_t)p->channels * 4;
}

static void sums_of_rows(const qn_npu_pool *p, const element *in, taps t, int32_t *restrict sums) {
    int64_t length = row_length(p);
    memset(sums, 0, (size_t)length * sizeof *sums);
    for (int32_t k = t.first; k < t.stop; k++) {
        const element *restrict row = row_under(p, in, t, k);
        for (int64_t i = 0; i < length; i++) {
            sums[i] += row[i];
        }
    }
}

/* floor(sums * 2^up / divisor), saturated. A quotient of doubles that is no integer lies at least
 * 1 / divisor from the next one, and is rounded by 2^31 * 2^22 / divisor * 2^-53 at most: less where
 * it counts, as only the lowest sum is that large, and its quotient is exact or saturates. */
static void divide(const qn_npu_pool *p, const int32_t *restrict sums, double divisor,
                   element *restrict out) {
    double factor = (double)(1 << p->up);
    for (int32_t c = 0; c < p->channels; c++) {
        double quotient = (double)sums[c] * factor / divisor;
        quotient = quotient < LEAST ? LEAST : quotient > MOST ? MOST : quotient;
        int32_t whole = (int32_t)quotient;
        out[c] = (element)(whole - (quotient < whole));
    }
}

static void average_at(const qn_npu_pool *p, const int32_t *restrict row, taps t, double divisor,
                       int32_t *restrict sums, element *out) {
    memset(sums, 0, (size_t)p->channels * sizeof *sums);
    for (int32_t k = t.first; k < t.stop; k++) {
        const int32_t *restrict cells = row + (t.from + (int64_t)k * p->dilation_w) * p->channels;
        for (int32_t c = 0; c < p->channels; c++) {
            sums[c] += cells[c];
        }
    }
    divide(p, sums, divisor, out);
}

static int average(const qn_npu_pool *p, const qn_buffers *b) {
    int32_t *row = b->scratch, *sums = row + row_bytes(p, 4) / 4;
    element *out = b->out;
    for (int32_t y = 0; y < p->out_h; y++) {
        taps rows = taps_y(p, y);
        sums_of_rows(p, b->in[0], rows, row);
        for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
            taps columns = taps_x(p, x);
            int64_t cells = (int64_t)(rows.stop - rows.first) * (columns.stop - columns.first);
            int64_t n = p->hw_aligned ? n_pool_divisor(p, y, x) : cells;
            if (n > 0) {
                double divisor = (double)n * (double)(INT64_C(1) << p->down);
                average_at(p, row, columns, divisor, sums, out);
            } else {
                memset(out, 0, (size_t)p->channels * sizeof(element));
            }
        }
    }
    return QN_OK;
}

#endif
