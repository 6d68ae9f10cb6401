/* Pooling of the s8 API with AVX2. */
#include "pool.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

typedef int8_t element;
typedef int16_t partial;
enum { MOST_CELLS = 256 };

#define EACH(value) _mm_set1_epi8(value)
#define MOST(a, b) _mm_max_epi8(a, b)
#define LEAST(a, b) _mm_min_epi8(a, b)

#include "cells_fast.inc"
#include "pool_fast.inc"

int s_max_pool_s8_avx2(const void *params, const qn_buffers *b) { return pool(params, b, maximum); }

int s_avgpool_s8_avx2(const void *params, const qn_buffers *b) { return pool(params, b, mean); }

#include "../../gemm/target_end.inc"

#endif
