/* Convolutions of signed images of 8 bits on AVX2: bytes widened to halfwords, 16 products per
 * instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_avx2.inc"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0, LOWEST = INT8_MIN, HIGHEST = INT8_MAX };
#define plain n_convolve_s8_ref

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1, .narrow_weights = 1};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_s16(acc, values, weights);
}

#include "../gemm/depthwise_avx2.inc"
#include "../gemm/tile.inc"

#include "convolve_fast.inc"

const qn_functions n_convolve_s8_avx2 = {convolve_run, convolve_scratch, convolve_packed,
                                         convolve_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
