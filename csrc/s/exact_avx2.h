/* Elements of any type on 8 lanes, and the exact requantization of all of them by one pair. Included
 * after target_avx2.h. */
#ifndef QN_S_EXACT_AVX2_H
#define QN_S_EXACT_AVX2_H

#include "../gemm/edge_avx2.h"
#include "requantize_avx2.h"

typedef struct exact {
    int32_t rows[STAGE_ROWS * 8];
    int single;
} exact;

static inline exact exact_of(int32_t profile, int32_t multiplier, int32_t shift) {
    exact e = {.single = qn_rounding(profile) == QN_SINGLE};
    const stage_channel pair = {multiplier, shift, INT64_MAX};
    const s_stage last = {profile, 0, 0, 0};
    for (int lane = 0; lane < 8; lane++) {
        (void)stage_pack_lane(e.rows, 8, lane, STAGE_EXACT, &pair, &last);
    }
    return e;
}

static inline __m256i scaled(const exact *e, __m256i x) {
    return e->single ? requantized_single(e->rows, x) : requantized_double(e->rows, x);
}

typedef enum element_type { S8, U8, S16 } element_type;

/* 8 elements from place i on, of which `left` are left. */
static inline __m256i elements_at(const void *in, element_type type, int64_t i, int64_t left) {
    if (type == S16) {
        return _mm256_cvtepi16_epi32(load_16((const int16_t *)in + i, 2 * left));
    }
    const __m128i bytes = load_8((const int8_t *)in + i, left);
    return type == S8 ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}

/* The bounds of an output, and what is added before them. */
typedef struct bounds {
    __m256i offset, low, high;
} bounds;

static inline bounds bounds_of(int32_t offset, int32_t low, int32_t high) {
    return (bounds){_mm256_set1_epi32(offset), _mm256_set1_epi32(low), _mm256_set1_epi32(high)};
}

static inline void put_at(void *out, element_type type, int64_t i, int64_t left, __m256i value,
                          const bounds *of) {
    value = _mm256_add_epi32(value, of->offset);
    value = _mm256_max_epi32(_mm256_min_epi32(value, of->high), of->low);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    if (type == S16) {
        store_16((int16_t *)out + i, 2 * left, words);
    } else if (type == S8) {
        store_8((int8_t *)out + i, left, _mm_packs_epi16(words, words));
    } else {
        store_8((uint8_t *)out + i, left, _mm_packus_epi16(words, words));
    }
}

#endif
