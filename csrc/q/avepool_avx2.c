/* Average pooling on AVX2: exact sums, eight exact divisions at a time.
 *
 * The portable path divides once: columns are summed first, then their sums. The DSP path divides
 * the sum of each row of a window, then the sum of the quotients. */
#include "pool_fast.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/edge_avx2.inc"

enum { LANES = 8 };

/* Return 16 sums of at most 256 terms each, in 16 bits. */
QN_INLINE __m256i sum_16(const int8_t *values, int64_t step, int32_t terms, int64_t available) {
    __m256i sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < terms; k++) {
        sum = _mm256_add_epi16(sum, _mm256_cvtepi8_epi16(load_16(values + k * step, available)));
    }
    return sum;
}

/* Write 16 sums as two vectors of 32 bits. */
QN_INLINE void sum_all_16(const int8_t *values, int64_t step, int32_t terms, int64_t available,
                          __m256i *sums) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int32_t k = 0; k < terms; k += 256) {
        int32_t left = terms - k;
        __m256i sum = sum_16(values + k * step, step, left < 256 ? left : 256, available);
        low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sum)));
        high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sum, 1)));
    }
    _mm256_storeu_si256(sums, low);
    _mm256_storeu_si256(sums + 1, high);
}

/* Compute `count` sums: sums[i] is the sum of value i of `terms` vectors, `step` apart. No vector
 * of values is read beyond `end`. sums has room for SLACK more bytes. */
QN_INLINE void sum_q7(const int8_t *values, const int8_t *end, int64_t step, int32_t terms,
                      int32_t count, int32_t *sums) {
    end -= (terms - 1) * step;
    for (int32_t i = 0; i < count; i += 16, values += 16) {
        if (end - values >= 16) {
            sum_all_16(values, step, terms, 16, (__m256i *)(sums + i));
        } else {
            sum_all_16(values, step, terms, end - values, (__m256i *)(sums + i));
        }
    }
}

QN_INLINE __m256i sum_of_sums(const int32_t *sums, int32_t step, int32_t terms) {
    __m256i sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < terms; k++) {
        sum = _mm256_add_epi32(sum, _mm256_loadu_si256((const __m256i *)(sums + k * step)));
    }
    return sum;
}

/* Divide toward zero: a / count, exact. A quotient that is no integer differs from the next integer
 * by at least 1/count. Its rounding error is at most |a| / count * 2^-53, less than that as
 * |a| <= 2^31. */
QN_INLINE __m256i quotient(__m256i a, int32_t count) {
    __m256d divisor = _mm256_set1_pd(count);
    __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(a));
    __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(a, 1));
    return _mm256_set_m128i(_mm256_cvttpd_epi32(_mm256_div_pd(high, divisor)),
                            _mm256_cvttpd_epi32(_mm256_div_pd(low, divisor)));
}

/* Divide likewise with a significand of 24 bits instead of 53, for |a| < 2^24. */
QN_INLINE __m256i quotient_24(__m256i a, int32_t count) {
    __m256 divisor = _mm256_set1_ps((float)count);
    return _mm256_cvttps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(a), divisor));
}

QN_INLINE __m256i divide(__m256i sum, int32_t count, int out_lshift) {
    int small = count < 1 << 17 && out_lshift == 0; /* sums of q7 values are below 2^17 * 2^7 */
    __m256i a = _mm256_sll_epi32(sum, _mm_cvtsi32_si128(out_lshift));
    return small ? quotient_24(a, count) : quotient(a, count);
}

/* Return the low bytes of eight lanes, in the low half. */
QN_INLINE __m128i low_bytes(__m256i lanes) {
    __m256i bytes = _mm256_and_si256(lanes, _mm256_set1_epi32(0xff));
    __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    return _mm_packus_epi16(words, words);
}

/* Compute one row of windows from `columns`, sums of `rows` values each. A pixel's vectors also
 * write bytes of the next pixel; the next pixel overwrites them. */
static void average_columns(const qn_pool *p, int out_lshift, const int32_t *columns, int32_t rows,
                            int8_t *out, const int8_t *out_end) {
    int32_t ch = p->ch_im_in;
    for (int32_t x = 0; x < p->dim_im_out_x; x++, out += ch) {
        q_span window = window_x(p, x);
        if (is_empty(window)) {
            memset(out, 0, (size_t)ch);
            continue;
        }
        const int32_t *sums = columns + (int64_t)window.start * ch;
        int32_t terms = window.stop - window.start;
        for (int32_t c = 0; c < ch; c += LANES) {
            __m256i sum = sum_of_sums(sums + c, ch, terms);
            __m128i bytes = low_bytes(divide(sum, rows * terms, out_lshift));
            store_8(out + c, out_end - out - c, bytes);
        }
    }
}

static void average_portable(const qn_pool *p, int out_lshift, const qn_buffers *b) {
    int32_t row_in = p->dim_im_in_x * p->ch_im_in, row_out = p->dim_im_out_x * p->ch_im_in;
    const int8_t *in = b->in[0], *end = in + (int64_t)p->dim_im_in_y * row_in;
    int8_t *out = b->out;
    const int8_t *out_end = out + (int64_t)p->dim_im_out_y * row_out;
    for (int32_t y = 0; y < p->dim_im_out_y; y++, out += row_out) {
        q_span window = window_y(p, y);
        if (is_empty(window)) {
            memset(out, 0, (size_t)row_out);
            continue;
        }
        int32_t rows = window.stop - window.start;
        sum_q7(in + (int64_t)window.start * row_in, end, row_in, rows, row_in, b->scratch);
        average_columns(p, out_lshift, b->scratch, rows, out, out_end);
    }
}

/* Compute the averages of `count` values in `terms` vectors, with the sums in `sums`. */
static void average_dsp(const int8_t *values, const int8_t *end, int64_t step, int32_t terms,
                        int32_t count, int32_t *sums, int8_t *out, const int8_t *out_end) {
    sum_q7(values, end, step, terms, count, sums);
    for (int32_t i = 0; i < count; i += LANES, out += LANES) {
        __m256i sum = _mm256_loadu_si256((const __m256i *)(sums + i));
        store_8(out, out_end - out, low_bytes(quotient_24(sum, terms)));
    }
}

static void average_rows_then_columns(const qn_pool *p, const qn_buffers *b) {
    int32_t ch = p->ch_im_in, row_in = p->dim_im_in_x * ch, row_out = p->dim_im_out_x * ch;
    const int8_t *in = b->in[0], *end = in + (int64_t)p->dim_im_in_y * row_in;
    int32_t *sums = b->scratch;
    int8_t *rows = (int8_t *)(sums + row_out) + SLACK, *out = b->out;
    const int8_t *rows_end = rows + (int64_t)p->dim_im_in_y * row_out;
    const int8_t *out_end = out + (int64_t)p->dim_im_out_y * row_out;
    for (int32_t y = 0; y < p->dim_im_in_y; y++, in += row_in) {
        for (int32_t x = 0; x < p->dim_im_out_x; x++) {
            q_span w = window_x(p, x);
            average_dsp(in + (int64_t)w.start * ch, end, ch, w.stop - w.start, ch, sums,
                        rows + (int64_t)y * row_out + x * ch, rows_end);
        }
    }
    for (int32_t y = 0; y < p->dim_im_out_y; y++, out += row_out) {
        q_span w = window_y(p, y);
        average_dsp(rows + (int64_t)w.start * row_out, rows_end, row_out, w.stop - w.start, row_out,
                    sums, out, out_end);
    }
}

int q_avepool_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    if (qn_is_dsp(p->profile)) {
        average_rows_then_columns(p, b);
    } else {
        average_portable(p, 0, b);
    }
    return QN_OK;
}

/* Sums of at most 256 values fit q15, the type of the DSP path's sums. */
int64_t q_avepool_q7_avx2_sums(const void *params) {
    const qn_pool *p = params;
    int64_t row = (int64_t)p->dim_im_out_x * p->ch_im_in;
    if (!qn_is_dsp(p->profile)) {
        return q_avepool_nonsquare_q7_avx2_sums(params);
    }
    int fits = p->dim_kernel_x <= 256 || p->dim_im_in_x <= 256;
    return fits && windows_are_clipped(p) ? row * 4 + SLACK + row * p->dim_im_in_y : QN_NOT_TAKEN;
}

int q_avepool_nonsquare_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_pool *p = params;
    average_portable(p, p->out_lshift, b);
    return QN_OK;
}

int64_t q_avepool_nonsquare_q7_avx2_sums(const void *params) {
    const qn_pool *p = params;
    return (int64_t)p->dim_im_in_x * p->ch_im_in * 4 + SLACK;
}

#include "../gemm/target_end.inc"

#endif
