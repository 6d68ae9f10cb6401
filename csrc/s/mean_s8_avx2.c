/* MEAN of TensorFlow Lite Micro of the s8 API on AVX2. */
#include "mean.h"

#if QN_HAS_X86

#include <string.h>

#include "../gemm/target_avx2.h"

typedef int8_t element;
typedef int16_t partial;
enum { MOST_CELLS = 256 };

#include "cells_fast.h"
#include "mean_fast.h"

int s_mean_s8_avx2(const void *params, const qn_buffers *b) {
    return mean_run(params, b, INT8_MIN, INT8_MAX);
}

#include "../gemm/target_end.h"

#endif
