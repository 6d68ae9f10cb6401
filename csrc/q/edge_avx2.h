/* Vectors near the end of an array: whole where `room` bytes are left, otherwise what there is.
 * Included after gemm/target_avx2.h. */
#ifndef QN_Q_EDGE_AVX2_H
#define QN_Q_EDGE_AVX2_H

#include <stdint.h>
#include <string.h>

static inline __m256i load_32(const void *at, int64_t room) {
    char some[32] = {0};
    if (room >= 32) {
        return _mm256_loadu_si256(at);
    }
    memcpy(some, at, (size_t)room);
    return _mm256_loadu_si256((const __m256i *)some);
}

static inline void store_32(void *at, int64_t room, __m256i values) {
    char some[32];
    if (room >= 32) {
        _mm256_storeu_si256(at, values);
        return;
    }
    _mm256_storeu_si256((__m256i *)some, values);
    memcpy(at, some, (size_t)room);
}

static inline __m128i load_8(const void *at, int64_t room) {
    int64_t some = 0;
    memcpy(&some, at, room >= 8 ? 8 : (size_t)room);
    return _mm_cvtsi64_si128(some);
}

static inline void store_8(void *at, int64_t room, __m128i values) {
    int64_t some = _mm_cvtsi128_si64(values);
    memcpy(at, &some, room >= 8 ? 8 : (size_t)room);
}

#endif
