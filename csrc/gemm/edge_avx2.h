/* Vectors near the end of an array: whole where `room` bytes are left, otherwise what there is.
 * Included after target_avx2.h. */
#ifndef QN_GEMM_EDGE_AVX2_H
#define QN_GEMM_EDGE_AVX2_H

#include <stdint.h>
#include <string.h>

#include "unroll.h"

/* The first `count` bytes, 0..8, in the low bytes. Two loads may overlap: both have the same bytes
 * there. Loads of just these bytes from a copy would wait until the copy is written. */
static inline uint64_t up_to_8(const char *at, int64_t count) {
    uint64_t eight = 0;
    uint32_t low = 0, high = 0;
    if (count >= 8) {
        memcpy(&eight, at, 8);
        return eight;
    }
    if (count >= 4) {
        memcpy(&low, at, 4);
        memcpy(&high, at + count - 4, 4);
        return low | (uint64_t)high << 8 * (count - 4);
    }
    for (int64_t i = 0; i < count; i++) {
        eight |= (uint64_t)(uint8_t)at[i] << 8 * i;
    }
    return eight;
}

static inline void store_up_to_8(char *at, int64_t count, uint64_t eight) {
    if (count >= 8) {
        memcpy(at, &eight, 8);
    } else if (count >= 4) {
        uint32_t low = (uint32_t)eight, high = (uint32_t)(eight >> 8 * (count - 4));
        memcpy(at, &low, 4);
        memcpy(at + count - 4, &high, 4);
    } else {
        for (int64_t i = 0; i < count; i++) {
            at[i] = (char)(eight >> 8 * i);
        }
    }
}

static inline __m128i load_8(const void *at, int64_t room) {
    return _mm_cvtsi64_si128((long long)up_to_8(at, room));
}

static inline void store_8(void *at, int64_t room, __m128i values) {
    store_up_to_8(at, room, (uint64_t)_mm_cvtsi128_si64(values));
}

static inline __m128i load_16(const void *at, int64_t room) {
    if (room >= 16) {
        return _mm_loadu_si128(at);
    }
    const char *bytes = at;
    __m128i low = load_8(bytes, room);
    return room > 8 ? _mm_unpacklo_epi64(low, load_8(bytes + 8, room - 8)) : low;
}

static inline void store_16(void *at, int64_t room, __m128i values) {
    char *bytes = at;
    if (room >= 16) {
        _mm_storeu_si128(at, values);
        return;
    }
    store_8(bytes, room, values);
    if (room > 8) {
        store_8(bytes + 8, room - 8, _mm_unpackhi_epi64(values, values));
    }
}

static inline __m256i load_32(const void *at, int64_t room) {
    if (room >= 32) {
        return _mm256_loadu_si256(at);
    }
    const char *bytes = at;
    __m128i high = room > 16 ? load_16(bytes + 16, room - 16) : _mm_setzero_si128();
    return _mm256_set_m128i(high, load_16(bytes, room));
}

static inline void store_32(void *at, int64_t room, __m256i values) {
    char *bytes = at;
    if (room >= 32) {
        _mm256_storeu_si256(at, values);
        return;
    }
    store_16(bytes, room, _mm256_castsi256_si128(values));
    if (room > 16) {
        store_16(bytes + 16, room - 16, _mm256_extracti128_si256(values, 1));
    }
}

#endif
