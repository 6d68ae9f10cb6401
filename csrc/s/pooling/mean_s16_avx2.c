/* MEAN of TensorFlow Lite Micro of the s16 API on AVX2. */
#include "mean.h"

#if QN_HAS_X86

#include <string.h>

#include "../../gemm/target_avx2.inc"

typedef int16_t element;
typedef int32_t partial;
enum { MOST_CELLS = 1 << 16 };

#include "../elementwise/exact_avx2.inc"
#include "cells_fast.inc"
#include "mean_fast.inc"

int s_mean_s16_avx2(const void *params, const qn_buffers *b) {
    return mean_run(params, b, S16, INT16_MIN, INT16_MAX);
}

#include "../../gemm/target_end.inc"

#endif
