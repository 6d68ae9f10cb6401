/* Compares quotients of average pooling on AVX2 (csrc/q/avepool_avx2.c) with those of integers.
 *
 * Lemma. Both quotients toward zero never fall as the sum grows. So they are equal if they are equal on
 * both sides of each integer: at k * count, at one less, and at the same sums with the other sign.
 *
 * usage: quotient */
#include <stdio.h>

#include "q/avepool_avx2.c"

#include "gemm/target_avx2.inc"

static long checks, wrong;

static void check(int64_t a, int32_t count, __m256i found) {
    const int32_t got = _mm256_extract_epi32(found, 0), wanted = (int32_t)(a / count);
    checks++;
    if (got != wanted && wrong++ < 5) {
        printf("%lld / %d = %d, not %d\n", (long long)a, count, got, wanted);
    }
}

/* quotient_24() divides sums of `count` q7 values, quotient() any other sum. */
int main(void) {
    for (int32_t count = 1; count < 1 << 17; count++) {
        for (int64_t k = 0; k <= 128; k++) {
            for (int64_t a = k * count - 1; a <= k * count; a++) {
                check(a, count, quotient_24(_mm256_set1_epi32((int32_t)a), count));
                check(-a, count, quotient_24(_mm256_set1_epi32((int32_t)-a), count));
            }
        }
    }
    for (int32_t count = 1; count < 1 << 22; count += count < 1 << 10 ? 1 : 997) {
        const int64_t most = INT32_MAX / count, step = most / 512 + 1;
        for (int64_t k = 0; k <= most; k += step) {
            for (int64_t a = k * count - 1; a <= k * count; a++) {
                check(a, count, quotient(_mm256_set1_epi32((int32_t)a), count));
                check(-a, count, quotient(_mm256_set1_epi32((int32_t)-a), count));
            }
        }
    }
    printf("%ld quotients; %ld differ\n", checks, wrong);
    return wrong > 0;
}

#include "gemm/target_end.inc"
