/* Softmax to the base 2 on AVX2. The power and the q7 output of a value depend only on its distance
 * d from the maximum, so both are tables of 16 bytes. */
#include "softmax.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/edge_avx2.inc"

/* Return a mask of lanes 0..available-1. */
static inline __m256i valid_q7(int64_t available) {
    const __m256i lanes =
        _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                         21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm256_cmpgt_epi8(_mm256_set1_epi8(available < 32 ? (char)available : 32), lanes);
}

static int8_t maximum_q7(const int8_t *in, int32_t count) {
    const __m256i least = _mm256_set1_epi8(INT8_MIN);
    __m256i best = least;
    for (int32_t i = 0; i < count; i += 32) {
        __m256i values = load_32(in + i, count - i);
        best = _mm256_max_epi8(best, _mm256_blendv_epi8(least, values, valid_q7(count - i)));
    }
    /* VPHMINPOSUW finds the minimum of eight words, here of 127 - x in the even and the odd
     * bytes. */
    __m128i half = _mm_max_epi8(_mm256_castsi256_si128(best), _mm256_extracti128_si256(best, 1));
    half = _mm_xor_si128(half, _mm_set1_epi8(INT8_MAX));
    half = _mm_min_epu8(half, _mm_srli_epi16(half, 8));
    return (int8_t)(INT8_MAX - _mm_cvtsi128_si32(_mm_minpos_epu16(half)));
}

/* Return d, or 15 for any larger d. A distance fits 8 bits. */
static inline __m256i distance(__m256i values, __m256i maximum) {
    return _mm256_min_epu8(_mm256_sub_epi8(maximum, values), _mm256_set1_epi8(15));
}

static int64_t sum_of_powers(const int8_t *in, int32_t count, __m256i maximum, __m256i powers) {
    __m256i sums = _mm256_setzero_si256();
    for (int32_t i = 0; i < count; i += 32) {
        __m256i d = distance(load_32(in + i, count - i), maximum);
        __m256i terms = _mm256_and_si256(_mm256_shuffle_epi8(powers, d), valid_q7(count - i));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(terms, _mm256_setzero_si256()));
    }
    int64_t sum[4];
    _mm256_storeu_si256((__m256i *)sum, sums);
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Fill a table with whole >> (5 + d) for d = 0..15, saturated; 5.6.0 has 0 from d = 8 on. */
static __m256i outputs(int32_t whole, int is_560) {
    const __m256i shifts = _mm256_setr_epi32(5, 6, 7, 8, 9, 10, 11, 12);
    const __m256i all = _mm256_set1_epi32(whole);
    __m256i near = _mm256_srav_epi32(all, shifts);
    __m256i far = _mm256_srav_epi32(all, _mm256_add_epi32(shifts, _mm256_set1_epi32(8)));
    far = is_560 ? _mm256_setzero_si256() : far;
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(near, far), 0xd8);
    return _mm256_permute4x64_epi64(_mm256_packs_epi16(words, words), 0x88);
}

static void softmax_q7(const int8_t *in, int8_t *out, int32_t count, int is_560) {
    /* The powers. 5.9.0: 2^clamp(8 - d, 0, 7); 5.6.0: half of 2^(8 - d), a byte, or 0. */
    const __m128i powers =
        is_560 ? _mm_setr_epi8(-128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0)
               : _mm_setr_epi8(-128, -128, 64, 32, 16, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m256i maximum = _mm256_set1_epi8(maximum_q7(in, count));
    int64_t sum = sum_of_powers(in, count, maximum, _mm256_broadcastsi128_si256(powers));
    int32_t whole = (1 << 20) / (int32_t)(is_560 ? 2 * sum : sum);
    const __m256i table = outputs(whole, is_560);
    for (int32_t i = 0; i < count; i += 32) {
        __m256i d = distance(load_32(in + i, count - i), maximum);
        store_32(out + i, count - i, _mm256_shuffle_epi8(table, d));
    }
}

int q_softmax_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    softmax_q7(b->in[0], b->out, p->dim_vec, qn_release(p->profile) == QN_RELEASE_560);
    return QN_OK;
}

int q_softmax_with_batch_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->nb_batches; n++, in += p->dim_vec, out += p->dim_vec) {
        softmax_q7(in, out, p->dim_vec, 0);
    }
    return QN_OK;
}

static int32_t maximum_q15(const int16_t *in, int32_t count) {
    int16_t maximum = INT16_MIN;
    for (int32_t i = 0; i < count; i++) {
        maximum = in[i] > maximum ? in[i] : maximum;
    }
    return maximum;
}

/* Return d of eight values. Lanes after the last value get a d that is far from any maximum. */
static inline __m256i distance_q15(const int16_t *in, int32_t available, int32_t maximum) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m128i words = load_16(in, 2 * available);
    __m256i d = _mm256_sub_epi32(_mm256_set1_epi32(maximum), _mm256_cvtepi16_epi32(words));
    __m256i beyond = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(available - 1));
    return _mm256_or_si256(d, beyond);
}

/* VPSRLVD gives 0 for shifts of more than 31 bits. Half of t is 2^15 >> d, so at d >= 16 both
 * shifts give 0. */
int q_softmax_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_softmax *p = params;
    const int16_t *in = b->in[0];
    int16_t *out = b->out;
    int32_t maximum = maximum_q15(in, p->dim_vec), sum[8];
    __m256i halves = _mm256_setzero_si256();
    for (int32_t i = 0; i < p->dim_vec; i += 8) {
        __m256i d = distance_q15(in + i, p->dim_vec - i, maximum);
        halves = _mm256_add_epi32(halves, _mm256_srlv_epi32(_mm256_set1_epi32(1 << 15), d));
    }
    _mm256_storeu_si256((__m256i *)sum, halves);
    int64_t half = 0;
    for (int lane = 0; lane < 8; lane++) {
        half += sum[lane];
    }
    /* Shift whole >> (1 + d), whole = 2^32 / (2 * half). */
    const __m256i rest = _mm256_set1_epi32((int32_t)((INT64_C(1) << 31) / half) >> 1);
    for (int32_t i = 0; i < p->dim_vec; i += 8) {
        __m256i d = distance_q15(in + i, p->dim_vec - i, maximum);
        __m256i values = _mm256_srlv_epi32(rest, d);
        __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(values, values), 0x08);
        store_16(out + i, 2 * (p->dim_vec - i), _mm256_castsi256_si128(words));
    }
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
