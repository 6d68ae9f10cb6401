/* Sigmoid and tanh of the s16 API on 8 lanes, as activation.h has them. Included after target_avx2.h. */
#ifndef QN_S_ACTIVATION_AVX2_H
#define QN_S_ACTIVATION_AVX2_H

#include <string.h>

#include "activation.h"

/* Entries i and i + 1 of the table in the halves of each dword, i = 0..254. Eight loads take less time
 * than a gathering one. */
static inline __m256i entries_at(__m256i place) {
    int32_t places[8];
    uint32_t pairs[8];
    _mm256_storeu_si256((__m256i *)places, place);
    for (int i = 0; i < 8; i++) {
        memcpy(pairs + i, s_sigmoid_u16 + places[i], sizeof *pairs);
    }
    return _mm256_loadu_si256((const __m256i *)pairs);
}

/* s_activation_table() of |v|. */
static inline __m256i table_value(__m256i size, int k, int32_t most) {
    const __m128i shift = _mm_cvtsi32_si128(k);
    const __m256i last = _mm256_set1_epi32(254), place = _mm256_srl_epi32(size, shift);
    const __m256i pairs = entries_at(_mm256_min_epi32(place, last));
    const __m256i entry = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff));
    const __m256i slope = _mm256_sub_epi32(_mm256_srli_epi32(pairs, 16), entry);
    const __m256i rest = _mm256_and_si256(size, _mm256_set1_epi32((1 << k) - 1));
    const __m256i value =
        _mm256_add_epi32(_mm256_sll_epi32(entry, shift), _mm256_mullo_epi32(rest, slope));
    return _mm256_blendv_epi8(value, _mm256_set1_epi32(most), _mm256_cmpgt_epi32(place, last));
}

/* s_sigmoid_s16() or s_tanh_s16(). */
static inline __m256i activated(__m256i v, int tanh) {
    const __m256i size = _mm256_abs_epi32(v), negative = _mm256_srai_epi32(v, 31);
    if (tanh) {
        const __m256i r =
            _mm256_sub_epi32(table_value(size, 8, 0xffff << 8), _mm256_set1_epi32(1 << 23));
        const __m256i either = _mm256_xor_si256(r, negative); /* -r - 1 */
        return _mm256_srai_epi32(_mm256_add_epi32(either, _mm256_set1_epi32(1 << 7)), 8);
    }
    const __m256i r = table_value(size, 9, 0x7fff << 10);
    const __m256i other = _mm256_sub_epi32(_mm256_set1_epi32((1 << 25) - 1), r);
    const __m256i either = _mm256_blendv_epi8(r, other, negative);
    return _mm256_srai_epi32(_mm256_add_epi32(either, _mm256_set1_epi32(1 << 9)), 10);
}

/* v = (x * factor + half) >> right */
typedef struct looked_up {
    int32_t factor, half, right;
} looked_up;

/* s_activation_input(). */
static inline looked_up looked_up_of(int32_t left_shift) {
    if (left_shift >= 0) {
        return (looked_up){3 * (1 << left_shift), 0, 0};
    }
    return (looked_up){3, qn_wrap32(qn_shl(1, -left_shift - 1)), -left_shift};
}

static inline __m256i looked_up_at(const looked_up *l, __m256i x) {
    const __m256i product = _mm256_mullo_epi32(x, _mm256_set1_epi32(l->factor));
    return _mm256_sra_epi32(_mm256_add_epi32(product, _mm256_set1_epi32(l->half)),
                            _mm_cvtsi32_si128(l->right));
}

/* 8 values, saturated to halfwords. */
static inline __m128i halfwords(__m256i eight) {
    return _mm_packs_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

#endif
