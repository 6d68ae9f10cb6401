/* The filter bank of the Signal library on AVX2: the ends of each channel are found before its
 * sums. */
#include "filter_bank.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

/* Elements that a channel multiplies, from `first` on, as the contract says. */
typedef struct channel {
    int32_t first, end, input, weight;
} channel;

static inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

static inline channel channel_of(const qn_signal_filter_bank *p, int32_t input, int32_t weight,
                                 int32_t width) {
    const int32_t first = larger(0, larger(-input, -weight));
    const int32_t end = smaller(width, smaller(p->length - input, p->num_weights - weight));
    return (channel){first, end, input, weight};
}

/* Four products of signed weights, of 64 bits each, and unsigned x: the upper half of a negative
 * weight is all ones, so that what makes it one of 2^32 more is taken off again. */
static inline __m256i products(const int16_t *weights, __m256i x) {
    const __m256i w = _mm256_cvtepi16_epi64(_mm_loadl_epi64((const __m128i *)weights));
    const __m256i more = _mm256_and_si256(_mm256_slli_epi64(x, 32), w);
    return _mm256_sub_epi64(_mm256_mul_epu32(w, x), more);
}

/* Weights that are loaded after the last are numbers of the array after them, times 0. */
static inline void add_up(const channel *c, const uint32_t *in, const int16_t *weights,
                          const int16_t *unweights, uint64_t sums[2]) {
    const __m128i lanes = _mm_setr_epi32(0, 1, 2, 3);
    __m256i weighted = _mm256_setzero_si256(), unweighted = weighted;
    for (int32_t j = c->first; j < c->end; j += 4) {
        const __m128i is_there = _mm_cmpgt_epi32(_mm_set1_epi32(c->end - j), lanes);
        const int *at = (const int *)in + c->input + j;
        const __m256i x = _mm256_cvtepu32_epi64(_mm_maskload_epi32(at, is_there));
        weighted = _mm256_add_epi64(weighted, products(weights + c->weight + j, x));
        unweighted = _mm256_add_epi64(unweighted, products(unweights + c->weight + j, x));
    }
    const __m256i pairs = _mm256_add_epi64(_mm256_unpacklo_epi64(weighted, unweighted),
                                           _mm256_unpackhi_epi64(weighted, unweighted));
    const __m128i both =
        _mm_add_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128((__m128i *)sums, both);
}

int s_signal_filter_bank_u32_avx2(const void *params, const qn_buffers *b) {
    const qn_signal_filter_bank *p = params;
    const s_filter_tables t = s_filter_tables_of(p, b->weights);
    uint64_t *out = b->out, before = 0;
    for (int32_t c = 0; c <= p->num_channels; c++) {
        const channel of = channel_of(p, t.starts[c], t.weight_starts[c], t.widths[c]);
        uint64_t sums[2];
        add_up(&of, b->in[0], t.weights, t.unweights, sums);
        if (c > 0) {
            out[c - 1] = before + sums[0];
        }
        before = sums[1];
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
