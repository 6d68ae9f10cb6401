/* MEAN of TensorFlow Lite Micro of the s8 API on AVX2. */
#include "mean.h"

#if QN_HAS_X86

#include <string.h>

#include "../../gemm/target_avx2.inc"

typedef int8_t element;
typedef int16_t partial;
enum { MOST_CELLS = 256 };

#include "../elementwise/exact_avx2.inc"
#include "cells_fast.inc"
#include "mean_fast.inc"

int s_mean_s8_avx2(const void *params, const qn_buffers *b) {
    return mean_run(params, b, S8, INT8_MIN, INT8_MAX);
}

#include "../../gemm/target_end.inc"

#endif
