/* One operation on every element, a vector of 32 bytes at a time; the last bytes through a vector
 * of their own. An output may be one of the inputs. Included after target_avx2.h. */
#ifndef QN_GEMM_EACH_AVX2_H
#define QN_GEMM_EACH_AVX2_H

#include "edge_avx2.h"

/* k: what the operation needs beside the elements. */
typedef __m256i of_one(__m256i x, const void *k);
typedef __m256i of_two(__m256i x, __m256i y, const void *k);

QN_INLINE void each(of_one *op, const void *k, const char *x, char *out, int64_t bytes) {
    int64_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        store_32(out + i, 32, op(load_32(x + i, 32), k));
    }
    if (i < bytes) {
        store_32(out + i, bytes - i, op(load_32(x + i, bytes - i), k));
    }
}

QN_INLINE void each_pair(of_two *op, const void *k, const char *x, const char *y, char *out,
                         int64_t bytes) {
    int64_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        store_32(out + i, 32, op(load_32(x + i, 32), load_32(y + i, 32), k));
    }
    if (i < bytes) {
        int64_t rest = bytes - i;
        store_32(out + i, rest, op(load_32(x + i, rest), load_32(y + i, rest), k));
    }
}

#endif
