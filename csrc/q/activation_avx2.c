/* Table activations on AVX2. */
#include "activation.h"
#include "activation_tables.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

/* A lookup in a table of 256 entries, 16 entries per VPSHUFB. Only the groups that indices can
 * reach are searched. */
typedef struct lookup {
    const int8_t *table;
    __m128i shift;
    __m256i kept;    /* mask of each byte, after the shift of words */
    __m256i center;  /* 128 after the shift */
    int first, stop; /* groups of 16 entries, counted from index 0 */
} lookup;

static lookup lookup_of(const qn_activation *p) {
    int shift = 3 - p->int_width, center = 128 >> shift;
    return (lookup){
        .table = p->type == 0 ? q_sigmoid_q7 : q_tanh_q7,
        .shift = _mm_cvtsi32_si128(shift),
        .kept = _mm256_set1_epi8((char)(255 >> shift)),
        .center = _mm256_set1_epi8((char)center),
        .first = -center / 16,
        .stop = center / 16,
    };
}

/* Return the entries of 32 values. AVX2 has no arithmetic shift of bytes, so x + 128 is shifted
 * unsigned. An index in the group becomes 0x70..0x7f, and VPSHUFB reads its low bits. Any index
 * outside it has its top bit set, and VPSHUFB gives 0. */
QN_INLINE __m256i look_up(__m256i x, const void *k) {
    const lookup *l = k;
    __m256i above = _mm256_xor_si256(x, _mm256_set1_epi8(INT8_MIN));
    above = _mm256_and_si256(_mm256_srl_epi16(above, l->shift), l->kept);
    __m256i index = _mm256_sub_epi8(above, l->center), result = _mm256_setzero_si256();
    for (int group = l->first; group < l->stop; group++) {
        const __m128i *entries = (const __m128i *)(l->table + 16 * (group & 15));
        __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(entries));
        __m256i inside = _mm256_xor_si256(index, _mm256_set1_epi8((char)(16 * group)));
        inside = _mm256_adds_epu8(inside, _mm256_set1_epi8(0x70));
        result = _mm256_or_si256(result, _mm256_shuffle_epi8(table, inside));
    }
    return result;
}

int q_activation_q7_avx2(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    const lookup k = lookup_of(p);
    each(look_up, &k, b->in[0], b->out, p->length);
    return QN_OK;
}

/* The interpolation points of a call: index n = x >> shift interpolates between points[n + zero]
 * and the next point. Smaller indices than `least` count as `least`. */
typedef struct ladder {
    int16_t points[257];
    int16_t zero, least;
} ladder;

/* Lay out the points of 5.9.0: from entry -128 = 128 through 0 to entry 127. Entry 127 is repeated,
 * so index 127 does not interpolate. */
static void ladder_590(const int16_t *table, ladder *l) {
    memcpy(l->points, table + 128, 128 * sizeof *table);
    memcpy(l->points + 128, table, 128 * sizeof *table);
    l->points[256] = table[127];
    l->zero = 128;
    l->least = -128;
}

/* Lay out the points of 5.6.0: entry 0 for all indices below 0, then entries 0 to 128. */
static void ladder_560(const int16_t *table, ladder *l) {
    l->points[0] = table[0];
    memcpy(l->points + 1, table, 129 * sizeof *table);
    l->zero = 1;
    l->least = -1;
}

static int64_t ladder_bytes(const void *params) {
    (void)params;
    return (int64_t)sizeof(ladder);
}

static void pack_ladder(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights;
    (void)bias;
    const qn_activation *p = params;
    const int16_t *table = p->type == 0 ? q_sigmoid_q15 : q_tanh_q15;
    memset(packed, 0, sizeof(ladder));
    if (qn_release(p->profile) == QN_RELEASE_560) {
        ladder_560(table, packed);
    } else {
        ladder_590(table, packed);
    }
}

/* Return each point in the low half and the next one in the high half. Eight loads are faster than
 * a gather. */
QN_INLINE __m256i pairs(const int16_t *points, __m256i index) {
    int32_t at[8], pair[8];
    _mm256_storeu_si256((__m256i *)at, index);
    for (int i = 0; i < 8; i++) {
        memcpy(&pair[i], points + at[i], sizeof pair[i]);
    }
    return _mm256_setr_epi32(pair[0], pair[1], pair[2], pair[3], pair[4], pair[5], pair[6],
                             pair[7]);
}

typedef struct interpolation {
    const ladder *ladder;
    __m128i shift;
    int32_t one;
} interpolation;

/* Interpolate eight values. VPMADDWD multiplies both points by their weights, and adds. */
QN_INLINE __m256i interpolate_8(__m256i x, const interpolation *k) {
    const __m256i one = _mm256_set1_epi32(k->one);
    __m256i n = _mm256_sra_epi32(x, k->shift);
    n = _mm256_max_epi32(n, _mm256_set1_epi32(k->ladder->least));
    n = _mm256_add_epi32(n, _mm256_set1_epi32(k->ladder->zero));
    __m256i fraction = _mm256_and_si256(x, _mm256_set1_epi32(k->one - 1));
    __m256i parts =
        _mm256_or_si256(_mm256_sub_epi32(one, fraction), _mm256_slli_epi32(fraction, 16));
    __m256i sums = _mm256_madd_epi16(pairs(k->ladder->points, n), parts);
    return _mm256_sra_epi32(sums, k->shift);
}

/* Interpolate 16 values. Unpacking and packing both work within 128-bit lanes, so they keep the
 * order. */
QN_INLINE __m256i interpolate(__m256i x, const void *k) {
    __m256i sign = _mm256_srai_epi16(x, 15);
    return _mm256_packs_epi32(interpolate_8(_mm256_unpacklo_epi16(x, sign), k),
                              interpolate_8(_mm256_unpackhi_epi16(x, sign), k));
}

static int activation_q15_run(const void *params, const qn_buffers *b) {
    const qn_activation *p = params;
    int shift = 11 - p->int_width;
    const interpolation k = {b->packed, _mm_cvtsi32_si128(shift), 1 << shift};
    each(interpolate, &k, b->in[0], b->out, (int64_t)p->length * 2);
    return QN_OK;
}

const qn_functions q_activation_q15_avx2 = {activation_q15_run, qn_no_scratch, ladder_bytes,
                                            pack_ladder, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
