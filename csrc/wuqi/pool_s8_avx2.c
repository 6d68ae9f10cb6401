/* Pooling of 8 bits on AVX2. */
#include "pool.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

typedef int8_t element;
enum { LEAST = INT8_MIN, MOST = INT8_MAX };

static inline __m256i lowest(void) { return _mm256_set1_epi8(LEAST); }
static inline __m256i larger(__m256i a, __m256i b) { return _mm256_max_epi8(a, b); }

#include "pool_fast.inc"

int n_max_pool_s8_avx2(const void *params, const qn_buffers *b) { return maximum(params, b); }

int64_t n_max_pool_s8_avx2_rows(const void *params) { return maximum_scratch(params); }

int n_average_pool_s8_avx2(const void *params, const qn_buffers *b) { return average(params, b); }

int64_t n_average_pool_s8_avx2_sums(const void *params) { return average_scratch(params); }

#include "../gemm/target_end.inc"

#endif
