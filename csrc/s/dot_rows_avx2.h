/* A matrix times a vector of halfwords, sums modulo 2^32: eight rows side by side, two columns a dword.
 * Included after target_avx2.h. */
#ifndef QN_S_DOT_ROWS_AVX2_H
#define QN_S_DOT_ROWS_AVX2_H

#include <stdint.h>
#include <string.h>

static inline int64_t dot_pairs(int64_t columns) { return (columns + 1) / 2; }

static inline int64_t dot_blocks(int64_t rows) { return (rows + 7) / 8; }

/* Dwords of the matrix, packed. */
static inline int64_t dot_dwords(int64_t rows, int64_t columns) {
    return dot_blocks(rows) * 8 * dot_pairs(columns);
}

/* Columns i and i + 1 of row r. */
static inline int32_t *dot_at(int32_t *packed, int64_t columns, int64_t r, int64_t i) {
    return packed + (r / 8 * dot_pairs(columns) + i / 2) * 8 + r % 8;
}

static inline __m256i dot_step(__m256i sum, const int32_t *weights, __m256i values) {
    const __m256i pairs = _mm256_loadu_si256((const __m256i *)weights);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(values, pairs));
}

/* sums: of whole blocks of rows; x: of whole pairs. */
static inline void dot_rows(const int16_t *x, int64_t rows, int64_t columns, const int32_t *packed,
                            int32_t *sums) {
    const int64_t pairs = dot_pairs(columns), step = 8 * pairs;
    int64_t left = dot_blocks(rows);
    for (; left > 0; left -= 4, packed += 4 * step, sums += 32) {
        __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                          _mm256_setzero_si256()};
        const int64_t more[4] = {0, left > 1 ? step : 0, left > 2 ? 2 * step : 0,
                                 left > 3 ? 3 * step : 0};
        for (int64_t k = 0; k < pairs; k++) {
            int32_t two;
            memcpy(&two, x + 2 * k, sizeof two);
            const __m256i values = _mm256_set1_epi32(two);
            for (int i = 0; i < 4; i++) {
                sum[i] = dot_step(sum[i], packed + more[i] + 8 * k, values);
            }
        }
        for (int i = 0; i < 4 && i < left; i++) {
            _mm256_storeu_si256((__m256i *)(sums + 8 * i), sum[i]);
        }
    }
}

#endif
