/* Sums and products of two s8 vectors on AVX2, 8 elements at a time. */
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include <immintrin.h>
#include <string.h>

#include "uniform.h"

/* An s_uniform in registers. */
typedef struct uniform {
    __m256i multiplier, add, left, right, nudge;
} uniform;

static uniform uniform_of(const s_uniform *u) {
    return (uniform){_mm256_set1_epi32(u->multiplier), _mm256_set1_epi64x(u->add),
                     _mm256_set1_epi32(u->left), _mm256_set1_epi32(u->right),
                     _mm256_set1_epi32(u->nudge)};
}

static inline __m256i requantized(const uniform *u, __m256i x) {
    __m256i a = _mm256_sllv_epi32(x, u->left);
    __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, u->multiplier), u->add);
    __m256i odd = _mm256_mul_epi32(_mm256_shuffle_epi32(a, 0xf5), u->multiplier);
    odd = _mm256_add_epi64(odd, u->add);
    __m256i t = _mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xf5), odd, 0xaa);
    t = _mm256_add_epi32(t, _mm256_cmpgt_epi32(u->nudge, t)); /* -1 where negative */
    return _mm256_srav_epi32(t, u->right);
}

/* What becomes of 8 elements of both vectors. */
typedef struct pair {
    uniform x, y, out;
    __m256i x_offset, y_offset, offset, low, high;
} pair;

static inline __m256i sums(const pair *k, __m256i x, __m256i y) {
    return _mm256_add_epi32(requantized(&k->x, x), requantized(&k->y, y));
}

static inline __m256i products(const pair *k, __m256i x, __m256i y) {
    (void)k;
    return _mm256_mullo_epi32(x, y);
}

typedef __m256i combine(const pair *k, __m256i x, __m256i y);

static inline __m128i eight(const pair *k, combine *of, __m128i x, __m128i y) {
    __m256i value = of(k, _mm256_add_epi32(_mm256_cvtepi8_epi32(x), k->x_offset),
                       _mm256_add_epi32(_mm256_cvtepi8_epi32(y), k->y_offset));
    value = _mm256_add_epi32(requantized(&k->out, value), k->offset);
    value = _mm256_max_epi32(_mm256_min_epi32(value, k->high), k->low);
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    return _mm_packs_epi16(words, words);
}

static inline void all(const pair *k, combine *of, int64_t count, const qn_buffers *b) {
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i result = eight(k, of, _mm_loadl_epi64((const __m128i *)(x + i)),
                               _mm_loadl_epi64((const __m128i *)(y + i)));
        _mm_storel_epi64((__m128i *)(out + i), result);
    }
    if (i < count) {
        int8_t last[3][8] = {{0}};
        memcpy(last[0], x + i, (size_t)(count - i));
        memcpy(last[1], y + i, (size_t)(count - i));
        __m128i result = eight(k, of, _mm_loadl_epi64((const __m128i *)last[0]),
                               _mm_loadl_epi64((const __m128i *)last[1]));
        _mm_storel_epi64((__m128i *)last[2], result);
        memcpy(out + i, last[2], (size_t)(count - i));
    }
}

int s_elementwise_add_s8_avx2(const void *params, const qn_buffers *b) {
    const s_add_parts parts = s_add_parts_of(params);
    const qn_s_add *p = parts.p;
    const pair k = {uniform_of(&parts.x),
                    uniform_of(&parts.y),
                    uniform_of(&parts.out),
                    _mm256_set1_epi32(p->input_1_offset),
                    _mm256_set1_epi32(p->input_2_offset),
                    _mm256_set1_epi32(p->out_offset),
                    _mm256_set1_epi32(p->act_min),
                    _mm256_set1_epi32(p->act_max)};
    all(&k, sums, p->block_size, b);
    return QN_OK;
}

int64_t s_elementwise_add_s8_avx2_scratch(const void *params) {
    return s_add_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

int s_elementwise_mul_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const s_uniform plain = s_uniform_of(p->out_mult, 0, p->out_shift);
    const uniform of_out = uniform_of(&plain);
    const pair k = {of_out,
                    of_out,
                    of_out,
                    _mm256_set1_epi32(p->input_1_offset),
                    _mm256_set1_epi32(p->input_2_offset),
                    _mm256_set1_epi32(p->out_offset),
                    _mm256_set1_epi32(p->act_min),
                    _mm256_set1_epi32(p->act_max)};
    all(&k, products, p->block_size, b);
    return QN_OK;
}

int64_t s_elementwise_mul_s8_avx2_scratch(const void *params) {
    return s_mul_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

#include "../../gemm/target_end.inc"

#endif
