/* Steps after the filter bank of the Signal library, on AVX2. */
#include "filter_bank.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

/* Four doubles, each the nearest to an unsigned number: its halves stand in doubles of their own.
 * */
static inline __m256d doubles_of(__m256i x) {
    const __m256i low_of = _mm256_set1_epi64x(0x4330000000000000);  /* 2^52 */
    const __m256i high_of = _mm256_set1_epi64x(0x4530000000000000); /* 2^84 */
    const __m256d both = _mm256_set1_pd(0x1p84 + 0x1p52);
    const __m256d low = _mm256_castsi256_pd(_mm256_blend_epi32(x, low_of, 0xaa));
    const __m256d high = _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(x, 32), high_of));
    return _mm256_add_pd(_mm256_sub_pd(high, both), low);
}

/* R(x) of four: the root of a double is off by less than 1. x - t^2 is small, so that 64 bits hold
 * it: one more is nearer where it is above t, one less where it is not above -t. */
static inline __m256i square_roots(__m256i x) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i narrow = _mm256_cmpeq_epi64(_mm256_srli_epi64(x, 32), zero);
    const __m256i most =
        _mm256_blendv_epi8(_mm256_set1_epi64x(UINT32_MAX), _mm256_set1_epi64x(UINT16_MAX), narrow);
    const __m256d magic = _mm256_set1_pd(0x1p52);
    __m256d root = _mm256_sqrt_pd(doubles_of(x));
    root = _mm256_min_pd(root, _mm256_set1_pd(UINT32_MAX));
    __m256i t = _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(root, magic)),
                                 _mm256_castpd_si256(magic));
    const __m256i rest = _mm256_sub_epi64(x, _mm256_mul_epu32(t, t));
    const __m256i above = _mm256_cmpgt_epi64(rest, t);
    const __m256i within = _mm256_cmpgt_epi64(rest, _mm256_sub_epi64(zero, t));
    const __m256i below = _mm256_andnot_si256(within, _mm256_cmpgt_epi64(t, zero));
    t = _mm256_add_epi64(_mm256_sub_epi64(t, above), below);
    return _mm256_blendv_epi8(t, most, _mm256_cmpgt_epi64(t, most));
}

int s_signal_square_root_u64_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const uint64_t *in = b->in[0];
    const __m128i shift = _mm_cvtsi32_si128(*(const int32_t *)b->in[1] & 255); /* all, from 32 on */
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    uint32_t *out = b->out;
    for (int64_t i = 0; i < p->length; i += 4) {
        const int64_t left = p->length - i;
        const __m256i x = load_32(in + i, 8 * left);
        const __m256i roots = _mm256_permutevar8x32_epi32(square_roots(x), even);
        const __m128i shifted = _mm_srl_epi32(_mm256_castsi256_si128(roots), shift);
        store_16(out + i, 4 * left, shifted);
    }
    return QN_OK;
}

/* One channel after the other, as compilers make vectors of it; clamping is 0 or 1. */
static inline void subtract(const qn_signal_subtraction *p, const uint32_t *in,
                            uint32_t *restrict noise, uint32_t *restrict out, int clamping,
                            int estimates) {
    const uint32_t least = (uint32_t)p->min_signal_remaining;
    const int bits = p->spectral_subtraction_bits, up = p->smoothing_bits;
    for (int32_t i = 0; i < p->length; i++) {
        const uint32_t s = (uint32_t)(i & 1 ? p->alternate_smoothing : p->smoothing);
        const uint32_t t =
            (uint32_t)(i & 1 ? p->alternate_one_minus_smoothing : p->one_minus_smoothing);
        const uint32_t x = in[i] << up;
        const uint32_t estimate = (uint32_t)(((uint64_t)x * s + (uint64_t)noise[i] * t) >> bits);
        const uint32_t taken = estimate < x ? estimate : x;
        const uint32_t remains = (uint32_t)((uint64_t)in[i] * least >> bits);
        const uint32_t left = (x - taken) >> up, now = clamping ? taken : estimate;
        noise[i] = now;
        out[i] = estimates ? now : left > remains ? left : remains;
    }
}

static int subtraction(const void *params, const qn_buffers *b, int estimates) {
    const qn_signal_subtraction *p = params;
    if (p->clamping) {
        subtract(p, b->in[0], b->in[1], b->out, 1, estimates);
    } else {
        subtract(p, b->in[0], b->in[1], b->out, 0, estimates);
    }
    return QN_OK;
}

int s_signal_subtraction_u32_avx2(const void *params, const qn_buffers *b) {
    return subtraction(params, b, 0);
}

int s_signal_noise_estimate_u32_avx2(const void *params, const qn_buffers *b) {
    return subtraction(params, b, 1);
}

/* The k of 2^k <= x < 2^(k + 1), x > 0: the exponent of a number that has no second bit to round
 * up. */
static inline __m256i logarithms(__m256i x) {
    const __m256i first = _mm256_andnot_si256(_mm256_srli_epi32(x, 1), x);
    const __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(first));
    const __m256i k = _mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127));
    const __m256i has_sign = _mm256_srai_epi32(x, 31);
    return _mm256_blendv_epi8(k, _mm256_set1_epi32(31), has_sign);
}

/* x with `bits` after the first of its k + 1 bits: what is cut off or 0. */
static inline __m256i aligned(__m256i x, __m256i k, int bits) {
    const __m256i count = _mm256_set1_epi32(bits);
    return _mm256_or_si256(_mm256_sllv_epi32(x, _mm256_sub_epi32(count, k)),
                           _mm256_srlv_epi32(x, _mm256_sub_epi32(k, count)));
}

/* Products of even lanes, and of odd ones, back to lanes. */
static inline __m256i low_words(__m256i even, __m256i odd) {
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

static inline __m256i odd_lanes(__m256i x) { return _mm256_srli_epi64(x, 32); }

/* Two entries of a table of 16 bits from `at` on, the first in the low half. */
static inline __m256i entries(const void *table, __m256i at) {
    return _mm256_i32gather_epi32(table, at, 2);
}

static inline __m256i gains(const int16_t *lut, __m256i noise) {
    const __m256i k = logarithms(noise), two = _mm256_set1_epi32(2);
    const __m256i table = _mm256_sub_epi32(_mm256_slli_epi32(k, 2), two);
    const __m256i is_small = _mm256_cmpeq_epi32(_mm256_min_epu32(noise, two), noise);
    const __m256i at = _mm256_blendv_epi8(table, noise, is_small);
    const __m256i t0 = _mm256_srai_epi32(_mm256_slli_epi32(entries(lut, at), 16), 16);
    const __m256i next = entries(lut + 1, at), t2 = _mm256_srai_epi32(next, 16);
    const __m256i t1 = _mm256_srai_epi32(_mm256_slli_epi32(next, 16), 16);
    const __m256i f = _mm256_and_si256(aligned(noise, k, 10), _mm256_set1_epi32(1023));
    const __m256i slope =
        _mm256_add_epi32(_mm256_srai_epi32(_mm256_mullo_epi32(t2, f), 5), _mm256_slli_epi32(t1, 5));
    const __m256i rise = _mm256_add_epi32(_mm256_mullo_epi32(slope, f), _mm256_set1_epi32(1 << 14));
    const __m256i gain = _mm256_add_epi32(_mm256_srai_epi32(rise, 15), t0);
    const __m256i wrapped = _mm256_srai_epi32(_mm256_slli_epi32(gain, 16), 16);
    return _mm256_blendv_epi8(wrapped, t0, is_small);
}

int s_signal_pcan_u32_avx2(const void *params, const qn_buffers *b) {
    const qn_signal_pcan *p = params;
    const uint32_t *in = b->in[0], *noise = b->in[1];
    const __m128i shift = _mm_cvtsi32_si128(p->snr_shift);
    const __m256i edge = _mm256_set1_epi32((1 << 13) - 1);
    uint32_t *out = b->out;
    for (int64_t i = 0; i < p->length; i += 8) {
        const int64_t left = 4 * (p->length - i);
        const __m256i x = load_32(in + i, left), g = gains(b->weights, load_32(noise + i, left));
        const __m256i even = _mm256_srl_epi64(_mm256_mul_epu32(x, g), shift);
        const __m256i odd = _mm256_mul_epu32(odd_lanes(x), odd_lanes(g));
        const __m256i v = low_words(even, _mm256_srl_epi64(odd, shift));
        const __m256i square = _mm256_srli_epi32(_mm256_mullo_epi32(v, v), 20);
        const __m256i line = _mm256_sub_epi32(_mm256_srli_epi32(v, 6), _mm256_set1_epi32(64));
        const __m256i is_low = _mm256_cmpeq_epi32(_mm256_min_epu32(v, edge), v);
        store_32(out + i, left, _mm256_blendv_epi8(line, square, is_low));
    }
    return QN_OK;
}

/* L(x) of filter_bank.h, but for its limit; x > 1. */
static inline __m256i scaled_logarithms(__m256i x, __m256i scale) {
    const __m256i k = logarithms(x), half = _mm256_set1_epi32(1 << 15);
    const __m256i rest = _mm256_xor_si256(x, _mm256_sllv_epi32(_mm256_set1_epi32(1), k));
    const __m256i f = aligned(rest, k, 16), i = _mm256_srli_epi32(f, 9);
    const __m256i both = entries(s_log_u16, i), high = _mm256_srli_epi32(both, 16);
    const __m256i low = _mm256_and_si256(both, _mm256_set1_epi32(UINT16_MAX));
    const __m256i steps = _mm256_sub_epi32(f, _mm256_slli_epi32(i, 9));
    const __m256i rise = _mm256_mullo_epi32(_mm256_sub_epi32(high, low), steps);
    const __m256i curve = _mm256_add_epi32(low, _mm256_srai_epi32(rise, 16));
    const __m256i whole = _mm256_add_epi32(_mm256_slli_epi32(k, 16), f);
    const __m256i binary = _mm256_add_epi32(whole, curve), ln2 = _mm256_set1_epi64x(45426);
    const __m256i round = _mm256_set1_epi64x(1 << 15);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(binary, ln2), round);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(odd_lanes(binary), ln2), round);
    const __m256i natural = low_words(_mm256_srli_epi64(even, 16), _mm256_srli_epi64(odd, 16));
    const __m256i scaled = _mm256_add_epi32(_mm256_mullo_epi32(natural, scale), half);
    return _mm256_srli_epi32(scaled, 16);
}

int s_signal_log_u32_avx2(const void *params, const qn_buffers *b) {
    const qn_signal_log *p = params;
    const uint32_t *in = b->in[0];
    const __m128i up = _mm_cvtsi32_si128(p->input_correction_bits);
    const __m256i scale = _mm256_set1_epi32(p->output_scale), one = _mm256_set1_epi32(1);
    const __m256i most = _mm256_set1_epi32(INT16_MAX);
    int16_t *out = b->out;
    for (int64_t i = 0; i < p->length; i += 8) {
        const int64_t left = p->length - i;
        const __m256i x = _mm256_sll_epi32(load_32(in + i, 4 * left), up);
        const __m256i is_small = _mm256_cmpeq_epi32(_mm256_min_epu32(x, one), x);
        __m256i found = scaled_logarithms(_mm256_max_epu32(x, one), scale);
        found = _mm256_andnot_si256(is_small, _mm256_min_epu32(found, most));
        const __m128i words =
            _mm_packs_epi32(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
        store_16(out + i, 2 * left, words);
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
