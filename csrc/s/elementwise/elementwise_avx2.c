/* Sums and products of two s8 vectors on AVX2, 8 elements at a time. */
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include <immintrin.h>
#include <string.h>

#include "sum_linear.h"

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

/* Stores a vector of outputs. how: what its caller knows. */
typedef void make(const void *how, const int8_t *x, const int8_t *y, int8_t *out);

/* size: of its vectors, 32 at most. The last elements have a vector of copies. */
static inline void each(make *of, const void *how, int64_t size, int64_t count,
                        const qn_buffers *b) {
    int8_t last[2][32] = {{0}};
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int64_t left = count; left > 0; left -= size, x += size, y += size, out += size) {
        int8_t *to = out;
        if (left < size) {
            x = memcpy(last[0], x, (size_t)left);
            y = memcpy(last[1], y, (size_t)left);
            to = last[0];
        }
        of(how, x, y, to);
        if (left < size) {
            memcpy(out, to, (size_t)left);
        }
    }
}

/* A sum in integers, as the plain row has it, and what is done around it. */
typedef struct exact_sum {
    uniform x, y, out;
    __m256i x_offset, y_offset, offset, low, high;
} exact_sum;

static exact_sum exact_sum_of(const qn_s_add *p) {
    const s_add_parts parts = s_add_parts_of(p);
    return (exact_sum){uniform_of(&parts.x),
                       uniform_of(&parts.y),
                       uniform_of(&parts.out),
                       _mm256_set1_epi32(p->input_1_offset),
                       _mm256_set1_epi32(p->input_2_offset),
                       _mm256_set1_epi32(p->out_offset),
                       _mm256_set1_epi32(p->act_min),
                       _mm256_set1_epi32(p->act_max)};
}

/* Outputs of 8 elements without their offsets, not clamped. */
static inline __m256i exact(const exact_sum *e, __m256i x, __m256i y) {
    x = requantized(&e->x, _mm256_add_epi32(x, e->x_offset));
    y = requantized(&e->y, _mm256_add_epi32(y, e->y_offset));
    return _mm256_add_epi32(requantized(&e->out, _mm256_add_epi32(x, y)), e->offset);
}

static inline __m256i words_at(const int8_t *in) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)in));
}

static inline void make_exact(const void *how, const int8_t *x, const int8_t *y, int8_t *out) {
    const exact_sum *e = how;
    __m256i sum = exact(e, words_at(x), words_at(y));
    sum = _mm256_max_epi32(_mm256_min_epi32(sum, e->high), e->low);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storel_epi64((__m128i *)out, _mm_packs_epi16(words, words));
}

/* See sum_linear.h. */
static sum_ends ends_of(const qn_s_add *p, const sum_linear *s) {
    const exact_sum e = exact_sum_of(p);
    const __m256i ramp = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                  factor = _mm256_set1_epi32(s->y);
    const __m128i bits = _mm_cvtsi32_si128(s->bits);
    const int32_t half = 1 << (s->bits - 1);
    __m256i least = _mm256_set1_epi32(half), most = least;
    sum_ends ends = {half, half};
    for (int32_t x = INT8_MIN; x <= INT8_MAX && (int64_t)ends.most - ends.least < 1 << s->bits;
         x++) {
        const __m256i all = _mm256_set1_epi32(x);
        const __m256i start =
            _mm256_set1_epi32(qn_wrap32((uint32_t)(s->start + (int64_t)x * s->x)));
        for (int32_t i = INT8_MIN; i <= INT8_MAX; i += 8) {
            const __m256i y = _mm256_add_epi32(ramp, _mm256_set1_epi32(i));
            const __m256i out = exact(&e, all, y);
            __m256i sum = _mm256_add_epi32(_mm256_mullo_epi32(y, factor), start);
            sum = _mm256_sub_epi32(sum, _mm256_sll_epi32(out, bits));
            const __m256i above = _mm256_cmpgt_epi32(out, e.low);
            const __m256i below = _mm256_cmpgt_epi32(e.high, out);
            least = _mm256_min_epi32(least, _mm256_blendv_epi8(least, sum, above));
            most = _mm256_max_epi32(most, _mm256_blendv_epi8(most, sum, below));
        }
        int32_t lanes[2][8];
        _mm256_storeu_si256((__m256i *)lanes[0], least);
        _mm256_storeu_si256((__m256i *)lanes[1], most);
        for (int lane = 0; lane < 8; lane++) {
            ends.least = lanes[0][lane] < ends.least ? lanes[0][lane] : ends.least;
            ends.most = lanes[1][lane] > ends.most ? lanes[1][lane] : ends.most;
        }
    }
    return ends;
}

enum { LOWER_BITS = 15 }; /* of a factor */

/* A sum_linear in registers: factors in pairs, upper and lower bits; limits of bytes. Sums are 2^-7
 * of what the form says, as bytes stand in the upper halves of 16 bits. */
typedef struct linear {
    __m256i upper, lower, start, most, least;
    __m128i down;
} linear;

static linear linear_of(const qn_s_add *p, const sum_linear *s) {
    const uint32_t ones = (1 << LOWER_BITS) - 1;
    const uint32_t upper = (uint32_t)qn_asr(s->y, LOWER_BITS) << 16;
    const uint32_t lower = ((uint32_t)s->y & ones) << 16 | ((uint32_t)s->x & ones);
    return (linear){
        _mm256_set1_epi32((int32_t)(upper | (uint16_t)qn_asr(s->x, LOWER_BITS))),
        _mm256_set1_epi32((int32_t)lower),
        _mm256_set1_epi32((int32_t)qn_asr64(s->start, LOWER_BITS - 8)),
        _mm256_set1_epi8((int8_t)p->act_max),
        _mm256_set1_epi8((int8_t)p->act_min),
        _mm_cvtsi32_si128(s->bits - LOWER_BITS - 8),
    };
}

/* pairs: x * 256 and y * 256. */
static inline __m256i sums_of_8(const linear *f, __m256i pairs) {
    const __m256i lower = _mm256_srai_epi32(_mm256_madd_epi16(pairs, f->lower), LOWER_BITS);
    const __m256i upper = _mm256_add_epi32(_mm256_madd_epi16(pairs, f->upper), f->start);
    return _mm256_add_epi32(upper, lower);
}

/* pairs: two elements of x, then the two of y, in each 32 bits. Returns their sums as halfwords. */
static inline __m256i sums_of_16(const linear *f, __m256i pairs) {
    const __m256i first = sums_of_8(f, _mm256_slli_epi16(pairs, 8));
    const __m256i second =
        sums_of_8(f, _mm256_and_si256(pairs, _mm256_set1_epi16((int16_t)0xff00)));
    const __m256i both = _mm256_blend_epi16(_mm256_srli_epi32(first, 16), second, 0xaa);
    return _mm256_sra_epi16(both, f->down);
}

static inline void make_linear(const void *how, const int8_t *x, const int8_t *y, int8_t *out) {
    const linear *f = how;
    const __m256i a = _mm256_loadu_si256((const __m256i *)x);
    const __m256i b = _mm256_loadu_si256((const __m256i *)y);
    const __m256i sum = _mm256_packs_epi16(sums_of_16(f, _mm256_unpacklo_epi16(a, b)),
                                           sums_of_16(f, _mm256_unpackhi_epi16(a, b)));
    _mm256_storeu_si256((__m256i *)out, _mm256_max_epi8(_mm256_min_epi8(sum, f->most), f->least));
}

static int add_s8_run(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const sum_linear *s = b->packed;
    if (s->bits) {
        const linear f = linear_of(p, s);
        each(make_linear, &f, 32, p->block_size, b);
    } else {
        const exact_sum e = exact_sum_of(p);
        each(make_exact, &e, 8, p->block_size, b);
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
    /* Outputs without clamping are below 2^10 with 28 bits, as 255 * 2 * 3/2 + 129 is. */
    const sum_room room = {28, LOWER_BITS + 8, 3 << 27, 1 << (LOWER_BITS - 8), 0x1p38};
    (void)weights, (void)bias;
    *(sum_linear *)packed = sum_prove(params, &room, ends_of);
}

const qn_functions s_elementwise_add_s8_avx2 = {add_s8_run, add_s8_scratch, add_s8_packed,
                                                add_s8_pack, qn_always_pays};

typedef struct product {
    uniform out;
    __m256i x_offset, y_offset, offset;
    __m128i least, most;
} product;

/* 16 elements with their offset, in 16 bits. */
static inline __m256i halfwords(const int8_t *in, __m256i offset) {
    return _mm256_add_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)in)), offset);
}

static inline void make_product(const void *how, const int8_t *x, const int8_t *y, int8_t *out) {
    const product *k = how;
    const __m256i s = halfwords(x, k->x_offset), t = halfwords(y, k->y_offset);
    const __m256i lower = _mm256_mullo_epi16(s, t), upper = _mm256_mulhi_epi16(s, t);
    const __m256i first = requantized(&k->out, _mm256_unpacklo_epi16(lower, upper));
    const __m256i second = requantized(&k->out, _mm256_unpackhi_epi16(lower, upper));
    const __m256i both = _mm256_packs_epi32(_mm256_add_epi32(first, k->offset),
                                            _mm256_add_epi32(second, k->offset)); /* in order */
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    _mm_storeu_si128((__m128i *)out, _mm_max_epi8(_mm_min_epi8(bytes, k->most), k->least));
}

int s_elementwise_mul_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const s_uniform plain = s_uniform_of(p->out_mult, 0, p->out_shift);
    const product k = {
        uniform_of(&plain),
        _mm256_set1_epi16((int16_t)p->input_1_offset),
        _mm256_set1_epi16((int16_t)p->input_2_offset),
        _mm256_set1_epi32(p->out_offset),
        _mm_set1_epi8((int8_t)p->act_min),
        _mm_set1_epi8((int8_t)p->act_max),
    };
    each(make_product, &k, 16, p->block_size, b);
    return QN_OK;
}

int64_t s_elementwise_mul_s8_avx2_scratch(const void *params) {
    return s_mul_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

#include "../../gemm/target_end.inc"

#endif
