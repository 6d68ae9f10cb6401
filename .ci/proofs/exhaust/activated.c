/* Compares sigmoid and tanh of s16 in vectors (csrc/s/tables/activation_avx2.inc) with the plain
 * functions, for every 32-bit number except the least.
 *
 * usage: activated */
#include <stdio.h>

#include "gemm/target_avx2.inc"

#include "s/tables/activation_avx2.inc"

static long differing(int tanh) {
    const __m256i ramp = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    long wrong = 0;
    for (int64_t v = INT32_MIN + 1; v <= INT32_MAX; v += 8) {
        int32_t got[8];
        const __m256i inputs = _mm256_add_epi32(_mm256_set1_epi32((int32_t)v), ramp);
        _mm256_storeu_si256((__m256i *)got, activated(inputs, tanh));
        for (int i = 0; i < 8 && v + i <= INT32_MAX; i++) {
            const int32_t x = (int32_t)(v + i);
            wrong += got[i] != (tanh ? s_tanh_s16(x) : s_sigmoid_s16(x));
        }
    }
    return wrong;
}

int main(void) {
    const long sigmoids = differing(0), tanhs = differing(1);
    printf("every argument: %ld sigmoids and %ld tanhs differ\n", sigmoids, tanhs);
    return sigmoids > 0 || tanhs > 0;
}

#include "gemm/target_end.inc"
