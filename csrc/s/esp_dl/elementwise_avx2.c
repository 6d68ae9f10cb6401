/* Element-wise calls of ESP-DL of 8 bits on AVX2: 8 elements at a time. */
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../elementwise/exact_avx2.inc"

/* R(x / 2^shift) as (x * 2^left + half - 1 + last) >> right, with the bit that becomes the last one
 * where halves are rounded to even, else 1. half 0: nothing is added. */
typedef struct rounding {
    __m128i left, right;
    __m256i half, even;
} rounding;

/* |x| is at most 2^14, so that 16 bits to the left saturate as all others do. */
static inline rounding rounding_of(int32_t shift, int32_t chip) {
    const int32_t left = shift < -16 ? 16 : shift < 0 ? -shift : 0, right = shift > 0 ? shift : 0;
    const int even = chip == QN_DL_P4 && right > 0;
    return (rounding){_mm_cvtsi32_si128(left), _mm_cvtsi32_si128(right),
                      _mm256_set1_epi32(right > 0 ? (1 << (right - 1)) - even : 0),
                      _mm256_set1_epi32(even)};
}

static inline __m256i rounded(const rounding *r, __m256i x) {
    const __m256i last = _mm256_and_si256(_mm256_sra_epi32(x, r->right), r->even);
    const __m256i sum = _mm256_add_epi32(_mm256_sll_epi32(x, r->left), r->half);
    return _mm256_sra_epi32(_mm256_add_epi32(sum, last), r->right);
}

int s_dl_mul_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_dl_pair *p = params;
    const rounding r = rounding_of(p->right_shift, p->chip);
    const bounds all = bounds_of(0, INT8_MIN, INT8_MAX);
    for (int64_t i = 0; i < p->block_size; i += 8) {
        const int64_t left = p->block_size - i;
        const __m256i x = elements_at(b->in[0], S8, i, left),
                      y = elements_at(b->in[1], S8, i, left);
        put_at(b->out, S8, i, left, rounded(&r, _mm256_mullo_epi32(x, y)), &all);
    }
    return QN_OK;
}

/* Sums of bytes saturate by one instruction. */
static inline int combine(const qn_dl_pair *p, const qn_buffers *b, int minus) {
    const int8_t *first = b->in[0], *second = b->in[1];
    int8_t *out = b->out;
    for (int64_t i = 0; i < p->block_size; i += 32) {
        const int64_t left = p->block_size - i;
        const __m256i x = load_32(first + i, left), y = load_32(second + i, left);
        store_32(out + i, left, minus ? _mm256_subs_epi8(x, y) : _mm256_adds_epi8(x, y));
    }
    return QN_OK;
}

int s_dl_add_s8_avx2(const void *params, const qn_buffers *b) { return combine(params, b, 0); }

int s_dl_sub_s8_avx2(const void *params, const qn_buffers *b) { return combine(params, b, 1); }

/* With fewer channels than lanes the plain row is as fast. */
int64_t s_dl_prelu_s8_avx2_scratch(const void *params) {
    return ((const qn_dl_prelu *)params)->inner < 8 ? QN_NOT_TAKEN : 0;
}

int s_dl_prelu_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_dl_prelu *p = params;
    const int plain = p->chip == QN_DL_C;
    const rounding input = rounding_of(plain ? 0 : p->input_right_shift, p->chip);
    rounding slope = rounding_of(p->alpha_right_shift, p->chip);
    const bounds all = bounds_of(0, INT8_MIN, INT8_MAX);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    if (plain) {
        slope.half = _mm256_setzero_si256();
    }
    for (int32_t o = 0; o < p->outer; o++, in += p->inner, out += p->inner) {
        for (int32_t c = 0; c < p->inner; c += 8) {
            const int32_t left = p->inner - c;
            const __m256i x = elements_at(in, S8, c, left);
            const __m256i product = _mm256_mullo_epi32(x, elements_at(b->weights, S8, c, left));
            const __m256i negative = _mm256_cmpgt_epi32(_mm256_setzero_si256(), x);
            const __m256i result =
                _mm256_blendv_epi8(rounded(&input, x), rounded(&slope, product), negative);
            put_at(out, S8, c, left, result, &all);
        }
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
