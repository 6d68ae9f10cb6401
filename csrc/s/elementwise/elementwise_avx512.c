/* Sums and products of two s8 vectors on AVX-512, 16 elements at a time. */
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx512.inc"

#include <immintrin.h>

#include "sum_linear.h"

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

/* See sum_linear.h. */
static sum_ends ends_of(const qn_s_add *p, const sum_linear *s) {
    const exact_sum e = exact_sum_of(p);
    const __m512i offset = _mm512_set1_epi32(p->out_offset), factor = _mm512_set1_epi32(s->y);
    const __m512i low = _mm512_set1_epi32(p->act_min), high = _mm512_set1_epi32(p->act_max);
    const __m512i ramp = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i bits = _mm_cvtsi32_si128(s->bits);
    __m512i least = _mm512_set1_epi32(1 << (s->bits - 1)), most = least;
    sum_ends ends = {0, 0};
    for (int32_t x = INT8_MIN; x <= INT8_MAX && (int64_t)ends.most - ends.least < 1 << s->bits;
         x++) {
        const __m512i with_offset = _mm512_set1_epi32(x + p->input_1_offset);
        const __m512i start =
            _mm512_set1_epi32(qn_wrap32((uint32_t)(s->start + (int64_t)x * s->x)));
        for (int32_t i = INT8_MIN; i <= INT8_MAX; i += 16) {
            __m512i y = _mm512_add_epi32(ramp, _mm512_set1_epi32(i));
            __m512i sum = _mm512_add_epi32(_mm512_mullo_epi32(y, factor), start);
            y = _mm512_add_epi32(y, _mm512_set1_epi32(p->input_2_offset));
            const __m512i out = _mm512_add_epi32(exact(&e, with_offset, y), offset);
            sum = _mm512_sub_epi32(sum, _mm512_sll_epi32(out, bits));
            const __mmask16 above = _mm512_cmpgt_epi32_mask(out, low);
            const __mmask16 below = _mm512_cmplt_epi32_mask(out, high);
            least = _mm512_mask_min_epi32(least, above, least, sum);
            most = _mm512_mask_max_epi32(most, below, most, sum);
        }
        ends = (sum_ends){_mm512_reduce_min_epi32(least), _mm512_reduce_max_epi32(most)};
    }
    return ends;
}

/* A sum_linear in registers: factors in pairs, upper 16 bits and lower 8, these for the lower and
 * the higher bytes of halfwords. */
typedef struct linear {
    __m512i upper, lower, lower_of_high, start;
    __m128i down;
} linear;

static linear linear_of(const sum_linear *s) {
    const uint32_t upper = (uint32_t)qn_asr(s->y, 8) << 16 | (uint16_t)qn_asr(s->x, 8);
    const uint32_t lower = (uint32_t)(uint8_t)s->y << 16 | (uint8_t)s->x;
    return (linear){_mm512_set1_epi32((int32_t)upper), _mm512_set1_epi32((int32_t)lower),
                    _mm512_set1_epi32((int32_t)(lower << 8)), _mm512_set1_epi32((int32_t)s->start),
                    _mm_cvtsi32_si128(s->bits - 16)};
}

/* pairs: two elements of x, then the two of y, in each 32 bits. Returns their sums as halfwords. */
static inline __m512i sums_of(const linear *f, __m512i pairs) {
    const __m512i low_up = _mm512_slli_epi16(pairs, 8);
    const __m512i high = _mm512_and_si512(pairs, _mm512_set1_epi16((int16_t)0xff00));
    const __m512i halves = _mm512_broadcast_i32x4(
        _mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
    __m512i first = _mm512_dpbusd_epi32(f->start, f->lower, pairs);
    __m512i second = _mm512_dpbusd_epi32(f->start, f->lower_of_high, pairs);
    first = _mm512_dpwssds_epi32(first, low_up, f->upper);
    second = _mm512_dpwssds_epi32(second, high, f->upper);
    const __mmask64 of_first = 0x3333333333333333;
    return _mm512_sra_epi16(_mm512_mask_shuffle_epi8(second, of_first, first, halves), f->down);
}

static inline __m512i sum_of_64(const linear *f, __m512i x, __m512i y) {
    return _mm512_packs_epi16(sums_of(f, _mm512_unpacklo_epi16(x, y)),
                              sums_of(f, _mm512_unpackhi_epi16(x, y)));
}

static void add_linear(const qn_s_add *p, const qn_buffers *b) {
    const int narrow = p->act_min > INT8_MIN || p->act_max < INT8_MAX;
    const linear f = linear_of(b->packed);
    const __m512i most = _mm512_set1_epi8((int8_t)p->act_max);
    const __m512i least = _mm512_set1_epi8((int8_t)p->act_min);
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    int32_t i = 0;
    for (; p->block_size - i >= 64; i += 64) {
        __m512i sum = sum_of_64(&f, _mm512_loadu_si512(x + i), _mm512_loadu_si512(y + i));
        if (narrow) {
            sum = _mm512_max_epi8(_mm512_min_epi8(sum, most), least);
        }
        _mm512_storeu_si512(out + i, sum);
    }
    const __mmask64 some = ((__mmask64)1 << (p->block_size - i)) - 1;
    __m512i sum =
        sum_of_64(&f, _mm512_maskz_loadu_epi8(some, x + i), _mm512_maskz_loadu_epi8(some, y + i));
    sum = _mm512_max_epi8(_mm512_min_epi8(sum, most), least);
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

static int add_s8_run(const void *params, const qn_buffers *b) {
    const sum_linear *s = b->packed;
    if (s->bits) {
        add_linear(params, b);
    } else {
        add_integers(params, b);
    }
    return QN_OK;
}

static int64_t add_s8_scratch(const void *params) {
    return s_add_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

static int64_t add_s8_packed(const void *params) {
    (void)params;
    return sizeof(sum_linear);
}

static void add_s8_pack(const void *params, const void *weights, const void *bias, void *packed) {
    const sum_room room = {24, 16, 1 << 23, 1,
                           INT32_MAX - (1 << 24)}; /* half a unit and less added */
    (void)weights, (void)bias;
    *(sum_linear *)packed = sum_prove(params, &room, ends_of);
}

const qn_functions s_elementwise_add_s8_avx512 = {add_s8_run, add_s8_scratch, add_s8_packed,
                                                  add_s8_pack, qn_always_pays};

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
