/* Spectra of 16 bits in loops that compilers make vectors of, and what such rows share. */
#include "fft_fast.h"

#include "fft_fast.inc"

/* Scratch of a power of 2: planes, and as much again. */
int64_t s_fft_scratch(const void *params) {
    const qn_signal_fft *p = params;
    const int32_t n = p->fft_length / 2;
    return n & (n - 1) ? QN_NOT_TAKEN : (int64_t)n * 8;
}

int64_t s_fft_packed(const void *params) {
    const qn_signal_fft *p = params;
    const int32_t n = p->fft_length / 2;
    return 2 * ((int64_t)s_fft_twiddles(n) + n);
}

/* Complex numbers in planes: every step-th of them `each` times, `count` in all. */
static int16_t *planes(const int16_t *from, int32_t step, int32_t each, int32_t count,
                       int16_t *to) {
    for (int32_t i = 0; i < count; i++) {
        const int16_t *w = from + (int64_t)2 * (i / each) * step;
        to[i] = w[0];
        to[i + count] = w[1];
    }
    return to + 2 * count;
}

/* Input of fft_fast.inc: of each stage w[q * k * d] for q > 0, then u. */
void s_fft_pack(const void *params, const void *weights, const void *bias, void *packed) {
    (void)bias;
    const qn_signal_fft *p = params;
    const int16_t *w = weights;
    const int32_t n = p->fft_length / 2;
    int16_t *to = packed;
    for (int32_t m = 1; m < n;) {
        const int32_t r = m == 1 ? s_fft_first(n) : 4, d = n / r / m;
        for (int32_t q = 1; q < r; q++) {
            to = planes(w, q * d, d, n / r, to);
        }
        m *= r;
    }
    planes(w + 2 * (int64_t)n, 1, 1, n / 2, to);
}

const qn_functions s_signal_rfft_s16_portable = {rfft_run, s_fft_scratch, s_fft_packed, s_fft_pack,
                                                 qn_always_pays};
