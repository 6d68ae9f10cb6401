/* Convolutions of unsigned images of 8 bits on AVX-512 VNNI: 64 products per instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/avx512vnni.inc"

#include "epilogue_avx512.inc"

typedef uint8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0, LOWEST = 0, HIGHEST = UINT8_MAX };
#define plain n_convolve_u8_ref

static const gemm_traits traits = {.most_vectors = 4, .split_k = 2};

static inline vec vec_dot(vec acc, vec values, vec weights) {
    return vec_dot_u8_s8(acc, values, weights);
}

#include "../gemm/depthwise_avx512.inc"
#include "../gemm/tile.inc"

#include "convolve_fast.inc"

const qn_functions n_convolve_u8_avx512 = {convolve_run, convolve_scratch, convolve_packed,
                                           convolve_pack, qn_always_pays};

#include "../gemm/target_end.inc"

#endif
