/* Stores of partial vectors. */
#ifndef QN_GEMM_STORE_PART_H
#define QN_GEMM_STORE_PART_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Stores the first `bytes` bytes of a vector, 0..16. */
static inline void store_part(void *to, __m128i value, int bytes) {
    uint8_t *out = to;
    if (bytes >= 16) {
        _mm_storeu_si128((__m128i *)to, value);
        return;
    }
    if (bytes & 8) {
        _mm_storel_epi64((__m128i *)to, value);
        value = _mm_unpackhi_epi64(value, value);
        out += 8;
    }
    uint64_t rest = (uint64_t)_mm_cvtsi128_si64(value);
    if (bytes & 4) {
        memcpy(out, &rest, 4);
        rest >>= 32;
        out += 4;
    }
    if (bytes & 2) {
        memcpy(out, &rest, 2);
        rest >>= 16;
        out += 2;
    }
    if (bytes & 1) {
        *out = (uint8_t)rest;
    }
}

#endif
