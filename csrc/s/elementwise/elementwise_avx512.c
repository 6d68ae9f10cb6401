/* Sums and products of two s8 vectors on AVX-512, 16 elements at a time. */
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx512.inc"

#include <immintrin.h>

#include "uniform.h"

/* An s_uniform in registers. */
typedef struct uniform {
    __m512i multiplier, add, left, right, nudge;
} uniform;

static uniform uniform_of(const s_uniform *u) {
    return (uniform){_mm512_set1_epi32(u->multiplier), _mm512_set1_epi64(u->add),
                     _mm512_set1_epi32(u->left), _mm512_set1_epi32(u->right),
                     _mm512_set1_epi32(u->nudge)};
}

static inline __m512i requantized(const uniform *u, __m512i x) {
    __m512i a = _mm512_sllv_epi32(x, u->left);
    __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, u->multiplier), u->add);
    __m512i odd = _mm512_mul_epi32(_mm512_shuffle_epi32(a, _MM_PERM_DDBB), u->multiplier);
    odd = _mm512_add_epi64(odd, u->add);
    __m512i t = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
    __mmask16 negative = _mm512_cmplt_epi32_mask(t, u->nudge);
    t = _mm512_mask_add_epi32(t, negative, t, _mm512_set1_epi32(-1));
    return _mm512_srav_epi32(t, u->right);
}

/* 16 elements with their offset; beyond the mask nothing is read. */
static inline __m512i elements(const int8_t *in, __mmask16 some, __m512i offset) {
    return _mm512_add_epi32(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(some, in)), offset);
}

static inline void store(int8_t *out, __mmask16 some, __m512i value, __m512i low, __m512i high) {
    __m512i inside = _mm512_max_epi32(_mm512_min_epi32(value, high), low);
    _mm_mask_storeu_epi8(out, some, _mm512_cvtepi32_epi8(inside));
}

static inline __mmask16 mask_of(int32_t left) {
    return left < 16 ? (__mmask16)((1u << left) - 1u) : (__mmask16)0xffff;
}

/* A sum in integers, of elements with their offsets: as the plain row has it. */
typedef struct exact_sum {
    uniform x, y, out;
} exact_sum;

static exact_sum exact_sum_of(const qn_s_add *p) {
    const s_add_parts parts = s_add_parts_of(p);
    return (exact_sum){uniform_of(&parts.x), uniform_of(&parts.y), uniform_of(&parts.out)};
}

static inline __m512i exact(const exact_sum *e, __m512i x, __m512i y) {
    __m512i sum = _mm512_add_epi32(requantized(&e->x, x), requantized(&e->y, y));
    return requantized(&e->out, sum);
}

#include "sum_float.inc"

/* Elements 16 * i and on; i: a literal number. */
#define QN_SUM_16(i)                                                                  \
    sums[i] = sum_of_floats(f, _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(x, i)), \
                            _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(y, i)))

/* 64 elements; their offset is added to saturated halfwords. */
static inline __m512i sum_of_64(const sum_floats *f, __m512i x, __m512i y) {
    const __m512i in_order =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i sums[4];
    QN_SUM_16(0);
    QN_SUM_16(1);
    QN_SUM_16(2);
    QN_SUM_16(3);
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(sums[0], sums[1]), f->offset);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(sums[2], sums[3]), f->offset);
    __m512i bytes = _mm512_permutexvar_epi32(in_order, _mm512_packs_epi16(low, high));
    return _mm512_max_epi8(_mm512_min_epi8(bytes, f->most), f->least);
}

static void add_floats(const qn_s_add *p, const sum_scale *scale, const qn_buffers *b) {
    const sum_floats f = sum_floats_of(p, scale);
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    int32_t i = 0;
    for (; i + 64 <= p->block_size; i += 64) {
        __m512i sum = sum_of_64(&f, _mm512_loadu_si512(x + i), _mm512_loadu_si512(y + i));
        _mm512_storeu_si512(out + i, sum);
    }
    const __mmask64 some = ((__mmask64)1 << (p->block_size - i)) - 1;
    __m512i sum =
        sum_of_64(&f, _mm512_maskz_loadu_epi8(some, x + i), _mm512_maskz_loadu_epi8(some, y + i));
    _mm512_mask_storeu_epi8(out + i, some, sum);
}

static void add_integers(const qn_s_add *p, const qn_buffers *b) {
    const exact_sum e = exact_sum_of(p);
    const __m512i x_offset = _mm512_set1_epi32(p->input_1_offset);
    const __m512i y_offset = _mm512_set1_epi32(p->input_2_offset);
    const __m512i offset = _mm512_set1_epi32(p->out_offset);
    const __m512i low = _mm512_set1_epi32(p->act_min), high = _mm512_set1_epi32(p->act_max);
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i += 16) {
        __mmask16 some = mask_of(p->block_size - i);
        __m512i sum = exact(&e, elements(x + i, some, x_offset), elements(y + i, some, y_offset));
        store(out + i, some, _mm512_add_epi32(sum, offset), low, high);
    }
}

int s_elementwise_add_s8_avx512(const void *params, const qn_buffers *b) {
    const sum_scale *scale = b->packed;
    if (scale->proven) {
        add_floats(params, scale, b);
    } else {
        add_integers(params, b);
    }
    return QN_OK;
}

int64_t s_elementwise_add_s8_avx512_scratch(const void *params) {
    const qn_s_add *p = params;
    const int positive = p->input_1_mult >= 0 && p->input_2_mult >= 0; /* as sum_prove() takes it */
    return positive && s_add_is_usual(p) ? 0 : QN_NOT_TAKEN;
}

int64_t s_elementwise_add_s8_avx512_packed(const void *params) {
    (void)params;
    return sizeof(sum_scale);
}

void s_elementwise_add_s8_avx512_pack(const void *params, const void *weights, const void *bias,
                                      void *packed) {
    (void)weights, (void)bias;
    sum_prove(params, packed);
}

/* 32 elements with their offset, in 16 bits; beyond the mask nothing is read. */
static inline __m512i halfwords(const int8_t *in, __mmask32 some, __m512i offset) {
    return _mm512_add_epi16(_mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(some, in)), offset);
}

int s_elementwise_mul_s8_avx512(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const s_uniform plain = s_uniform_of(p->out_mult, 0, p->out_shift);
    const uniform of_out = uniform_of(&plain);
    const __m512i x_offset = _mm512_set1_epi16((int16_t)p->input_1_offset);
    const __m512i y_offset = _mm512_set1_epi16((int16_t)p->input_2_offset);
    const __m512i offset = _mm512_set1_epi32(p->out_offset);
    const __m512i least = _mm512_set1_epi16((int16_t)p->act_min);
    const __m512i most = _mm512_set1_epi16((int16_t)p->act_max);
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int64_t i = 0; i < p->block_size; i += 32) {
        const int64_t left = p->block_size - i;
        const __mmask32 some = left < 32 ? ((__mmask32)1 << left) - 1 : ~(__mmask32)0;
        const __m512i s = halfwords(x + i, some, x_offset), t = halfwords(y + i, some, y_offset);
        const __m512i lower = _mm512_mullo_epi16(s, t), upper = _mm512_mulhi_epi16(s, t);
        __m512i first = requantized(&of_out, _mm512_unpacklo_epi16(lower, upper));
        __m512i second = requantized(&of_out, _mm512_unpackhi_epi16(lower, upper));
        __m512i both = _mm512_packs_epi32(_mm512_add_epi32(first, offset),
                                          _mm512_add_epi32(second, offset)); /* in order again */
        both = _mm512_max_epi16(_mm512_min_epi16(both, most), least);
        _mm256_mask_storeu_epi8(out + i, some, _mm512_cvtepi16_epi8(both));
    }
    return QN_OK;
}

int64_t s_elementwise_mul_s8_avx512_scratch(const void *params) {
    return s_mul_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

#include "../../gemm/target_end.inc"

#endif
