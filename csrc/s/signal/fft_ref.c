/* Fourier transforms of real signals, plain. */
#include "fft.h"

/* The radices of a transform of n, in order; how many; 0 where n has other prime factors, or none.
 * */
static int32_t factors(int32_t n, int32_t *radices) {
    static const int32_t known[] = {4, 2, 3, 5};
    int32_t count = 0;
    for (int i = 0; i < 4; i++) {
        while (n > 1 && n % known[i] == 0) {
            radices[count++] = known[i];
            n /= known[i];
        }
    }
    return n == 1 ? count : 0;
}

static int check(const qn_signal_fft *p, int64_t element, int64_t from, qn_sizes *sizes,
                 int inverse, char *why) {
    const s_range all[] = {
        {"fft_length", p->fft_length, 4, S_FFT_MOST},
        {"outer", p->outer, 1, (int32_t)(INT32_MAX / (S_FFT_MOST + 2) / element)},
    };
    int32_t radices[S_FFT_STAGES], status = s_in_ranges(all, 2, why);
    if (status == QN_OK && (p->fft_length % 2 || factors(p->fft_length / 2, radices) == 0)) {
        status = qn_deny(why, QN_REFUSED,
                         "fft_length must be twice a product of 2, 3 and 5, is %ld: the device "
                         "computes no others",
                         (long)p->fft_length);
    }
    const int64_t to = inverse ? p->fft_length : (int64_t)p->fft_length + 2;
    sizes->in[0] = from * p->outer * element;
    sizes->out = to * p->outer * element;
    sizes->weights = (p->fft_length + ((int64_t)p->fft_length / 2 + 1) / 2 * 2) * element;
    return status;
}

static int rfft_check(const qn_signal_fft *p, int64_t element, qn_sizes *sizes, char *why) {
    const int status = check(p, element, p->input_length, sizes, 0, why);
    return status == QN_OK ? qn_in_range("input_length", p->input_length, 1, p->fft_length, why)
                           : status;
}

int s_signal_rfft_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return rfft_check(params, 2, sizes, why);
}

int s_signal_rfft_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return rfft_check(params, 4, sizes, why);
}

static int irfft_check(const qn_signal_fft *p, int64_t element, qn_sizes *sizes, char *why) {
    return check(p, element, (int64_t)p->fft_length + 2, sizes, 1, why);
}

int s_signal_irfft_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return irfft_check(params, 2, sizes, why);
}

int s_signal_irfft_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return irfft_check(params, 4, sizes, why);
}

/* A product that sums wrap around with, and such a sum shifted right by `bits` and rounded. */
static inline uint64_t times(int64_t a, int64_t b) { return (uint64_t)(a * b); }

static inline int32_t rounded(uint64_t sum, int bits) {
    return (int32_t)(uint32_t)qn_asr64((int64_t)(sum + (UINT64_C(1) << (bits - 1))), bits);
}

#define PLUS(a, b) qn_add32(a, b)
#define MINUS(a, b) qn_sub32(a, b)
#define NEGATIVE(a) qn_sub32(0, a)
#define HALF(a) qn_asr(a, 1)
#define TIMES(a, b) times(a, b)
#define LAST(x, fft_length) (x)

#define FFT(name) name##_s16
#define SCALAR int16_t
#define NARROW(a) qn_wrap16(a)
#define ROUND(sum) qn_wrap16(rounded(sum, 15))
#define PART(a, k) ROUND(TIMES(a, INT16_MAX / (k)))
#include "fft.inc"

int s_signal_rfft_s16_ref(const void *params, const qn_buffers *b) {
    return transform_s16(params, b, 0);
}

int s_signal_irfft_s16_ref(const void *params, const qn_buffers *b) {
    return transform_s16(params, b, 1);
}

#undef FFT
#undef SCALAR
#undef NARROW
#undef ROUND
#undef PART

#define FFT(name) name##_s32
#define SCALAR int32_t
#define NARROW(a) (a)
#define ROUND(sum) rounded(sum, 31)
#define PART(a, k) ROUND(TIMES(a, INT32_MAX / (k)))
#include "fft.inc"

int s_signal_rfft_s32_ref(const void *params, const qn_buffers *b) {
    return transform_s32(params, b, 0);
}

int s_signal_irfft_s32_ref(const void *params, const qn_buffers *b) {
    return transform_s32(params, b, 1);
}

#undef FFT
#undef SCALAR
#undef NARROW
#undef ROUND
#undef PART
#undef PLUS
#undef MINUS
#undef NEGATIVE
#undef HALF
#undef TIMES
#undef LAST

#define FFT(name) name##_f32
#define SCALAR float
#define PLUS(a, b) ((a) + (b))
#define MINUS(a, b) ((a) - (b))
#define NEGATIVE(a) (-(a))
#define HALF(a) ((a) * 0.5f)
#define TIMES(a, b) ((a) * (b))
#define NARROW(a) (a)
#define ROUND(sum) (sum)
#define PART(a, k) ((void)(k), (a))
#define LAST(x, fft_length) ((x) / (float)(fft_length))
#include "fft.inc"

int s_signal_rfft_f32_ref(const void *params, const qn_buffers *b) {
    return transform_f32(params, b, 0);
}

int s_signal_irfft_f32_ref(const void *params, const qn_buffers *b) {
    return transform_f32(params, b, 1);
}
