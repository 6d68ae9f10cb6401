/* Convolutions of unsigned images of 8 bits on AVX2: bytes widened to halfwords, 16 products an instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

#include "../gemm/avx2.h"

#include "stage_avx2.h"

typedef uint8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0, LOWEST = 0, HIGHEST = UINT8_MAX };
#define vec_dot vec_dot_s16
#define plain n_convolve_u8_ref

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepu8_epi16(bytes); }

#include "../gemm/strips_avx2.h"
#include "../gemm/tile.h"

#include "convolve_fast.h"

int n_convolve_u8_avx2(const void *params, const qn_buffers *b) { return convolve_run(params, b); }

int64_t n_convolve_u8_avx2_scratch(const void *params) { return convolve_scratch(params); }

int64_t n_convolve_u8_avx2_packed(const void *params) { return convolve_packed(params); }

void n_convolve_u8_avx2_pack(const void *params, const void *weights, const void *bias,
                             void *packed) {
    convolve_pack(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
