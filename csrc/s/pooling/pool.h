/* Pooling of the s8 and s16 API (arm_max_pool_s8, _s16, arm_avgpool_s8, _s16; from 5.9.0 on).
 *
 * The window of output o covers the inputs o*stride - pad ... + filter - 1 that lie in the image;
 * padding never counts. With the maximum, sum and count n of a window:
 *
 *   max_pool   out = clamp(maximum, act_min, act_max)
 *   avgpool    out = clamp(A, act_min, act_max),  A = (sum + n/2) / n    for sum > 0
 *                                                 A = (sum - n/2) / n    otherwise
 *              every division toward zero: halves go away from zero
 *
 * Axes: in[0] and out are [batch][y][x][c]. output_h and output_w are not derived: windows may hang
 * over on any side.
 * Ranges: dimensions, channels, filter and stride 1..65535, pad 0..65535, act_min <= act_max within
 * the type, at most 65535 cells in a filter (so that |sum| + n/2 < 2^31) and 2^31 - 1 bytes in an
 * array. Refused: a window without a cell in the image, for which Arm's functions answer with an
 * error or with whatever is lowest; by 5.9.0 several batches, of which it computes the first alone.
 * In place: no. Scratch: none (the DSP path sums channels in a buffer of 4 bytes each; no result
 * depends on it). All paths and both roundings give the same bits. */
#ifndef QN_S_POOL_H
#define QN_S_POOL_H

#include "../../common/contract.h"
#include "kernels.h"

/* The inputs start <= i < stop of one window along one axis. */
typedef struct s_span {
    int32_t start, stop;
} s_span;

/* In 64 bits, as o*stride may pass 2^31. */
static inline s_span s_pool_window(int32_t o, int32_t stride, int32_t pad, int32_t filter,
                                   int32_t dim) {
    int64_t start = (int64_t)o * stride - pad, stop = start + filter;
    return (s_span){start < 0 ? 0 : (int32_t)start, stop > dim ? dim : (int32_t)stop};
}

static inline s_span s_pool_rows(const qn_s_pool *p, int32_t y) {
    return s_pool_window(y, p->stride_h, p->pad_h, p->filter_h, p->input_h);
}

static inline s_span s_pool_columns(const qn_s_pool *p, int32_t x) {
    return s_pool_window(x, p->stride_w, p->pad_w, p->filter_w, p->input_w);
}

#endif
