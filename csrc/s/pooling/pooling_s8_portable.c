/* Pooling and means of the s8 API in plain C that compilers make vectors of. */
#include "mean.h"
#include "pool.h"

typedef int8_t element;
typedef int16_t partial;
enum { MOST_CELLS = 256 };

#include "cells_fast.inc"
#include "mean_sums.inc"
#include "pool_fast.inc"

int s_max_pool_s8_portable(const void *params, const qn_buffers *b) {
    return pool(params, b, maximum_of_any);
}

int s_avgpool_s8_portable(const void *params, const qn_buffers *b) { return pool(params, b, mean); }

int s_mean_s8_portable(const void *params, const qn_buffers *b) {
    const qn_s_mean p = merged(params);
    const s_mean_scale scale = s_mean_scale_of(&p);
    const s_epilogue last = {p.profile, p.output_zero_point, INT8_MIN, INT8_MAX};
    const int32_t zeros = p.reduced_0 * p.reduced_1 * p.input_zero_point;
    const int64_t outputs = (int64_t)p.kept_0 * p.kept_1 * p.kept_2;
    int8_t *out = b->out;
    int count;
    for (int64_t i = 0; i < outputs; i += count) {
        int32_t sums[BLOCK] = {0};
        count = mean_sums(&p, b->in[0], i, outputs - i, sums);
        for (int c = 0; c < count; c++) {
            const int32_t sum = sums[c] - zeros;
            out[i + c] = (int8_t)s_output(&last, sum, scale.multiplier, scale.shift);
        }
    }
    return QN_OK;
}
