/* Pooling (arm_maxpool_q7_HWC, arm_avepool_q7_HWC, and arm_avepool_q7_HWC_nonsquare of
 * keyword-spotting firmware, not part of CMSIS).
 *
 * The window of output o covers the inputs o*stride - padding ... + dim_kernel - 1 that are in the
 * image; padding never counts. With the maximum, sum and count of a window:
 *
 *   maxpool            out[y][x][c] = maximum                      empty window: 127
 *   avepool            out[y][x][c] = sum / count, toward zero     empty window: 0
 *   avepool_nonsquare  out[y][x][c] = wrap8(wrap32(sum * 2^out_lshift) / count)     likewise
 *
 * Axes: in[0] and out are HWC, index (y*dim_x + x)*ch_im_in + c. dim_im_out is neither derived nor
 * checked: windows may extend past any edge.
 * Ranges: dimensions, kernels and strides 1..65535, padding 0..65535, out_lshift 0..31; an image of
 * at most 2^31 - 1 elements. maxpool and avepool are square.
 * In place: no. Scratch: avepool on DSP 2*dim_im_out*ch_im_in bytes, otherwise none.
 *
 * Scalar and DSP differ, except in avepool_nonsquare,
 *   - in averages: DSP pools rows first and columns then, and truncates twice. A 2x2 window over
 *     [[1, 0], [1, 2]] gives 4/4 = 1 on scalar, (1/2 + 3/2)/2 = (0 + 1)/2 = 0 on DSP;
 *   - if padding >= stride: DSP pools the rows of in[0] in place and reads its own results. A
 *     window that starts before the image starts at the output's own pixel there. The maximum of
 *     the row 9 0 0 with kernel 3, stride 1 is 9 9 0 on scalar and 9 9 9 on DSP with padding 1,
 *     9 9 9 on scalar and 9 0 9 on DSP with padding 2;
 *   - in averages over more than 256 pixels of a row or a column: DSP sums are q15. They saturate
 *     in the first n - n%4 lanes and wrap in the last n%4.
 *   - of 5.3.0 to 5.5.1: maxpool on DSP compares whole groups of four. The last ch_im_in%4 channels
 *     keep the start pixel of a window of a row, the last dim_im_out*ch_im_in%4 elements its first
 *     row. The rows of one channel, 1 2 and 3 4, give 1 on DSP.
 * DSP overwrites in[0] with the pooled rows (sizes.destroys). Its dimensions are at most 32767. It
 * is refused if it would read outside the image: dim_im_out > dim_im_in, or a window that starts
 * after the last pixel.
 * Fast rows do not modify in[0]. On DSP they do not support padding >= stride,
 * padding >= dim_kernel, or averages over more than 256 pixels of a row. */
#ifndef QN_Q_POOL_H
#define QN_Q_POOL_H

#include "../common/contract.h"
#include "kernels.h"

/* The inputs start <= i < stop of one window along one axis. */
typedef struct q_span {
    int32_t start, stop;
} q_span;

static inline int32_t q_pool_clip(int64_t i, int32_t dim) {
    return i < 0 ? 0 : i < dim ? (int32_t)i : dim;
}

/* 64 bits, because o*stride may exceed 2^31. An empty window has stop <= start. */
static inline q_span q_pool_window(int32_t o, int32_t stride, int32_t padding, int32_t kernel,
                                   int32_t dim) {
    int64_t nominal = (int64_t)o * stride - padding;
    return (q_span){q_pool_clip(nominal, dim), q_pool_clip(nominal + kernel, dim)};
}

/* The ranges of both axes. The parameters of Arm's square functions have no _x and _y. */
static inline int q_pool_in_range(const qn_pool *p, int square, char *why) {
    const struct {
        const char *name;
        int32_t x, y, low;
    } sides[] = {
        {"dim_im_in", p->dim_im_in_x, p->dim_im_in_y, 1},
        {"dim_kernel", p->dim_kernel_x, p->dim_kernel_y, 1},
        {"padding", p->padding_x, p->padding_y, 0},
        {"stride", p->stride_x, p->stride_y, 1},
        {"dim_im_out", p->dim_im_out_x, p->dim_im_out_y, 1},
    };
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        char x[32], y[32];
        snprintf(x, sizeof x, "%s%s", sides[i].name, square ? "" : "_x");
        snprintf(y, sizeof y, "%s%s", sides[i].name, square ? "" : "_y");
        if (square && sides[i].x != sides[i].y) {
            return qn_deny(why, QN_REFUSED, "this pooling is square: %s is %ld in x, %ld in y", x,
                           (long)sides[i].x, (long)sides[i].y);
        }
        if (qn_in_range(x, sides[i].x, sides[i].low, UINT16_MAX, why) != QN_OK ||
            qn_in_range(y, sides[i].y, sides[i].low, UINT16_MAX, why) != QN_OK) {
            return QN_REFUSED;
        }
    }
    return qn_in_range("ch_im_in", p->ch_im_in, 1, UINT16_MAX, why);
}

/* Refuse geometries in which the DSP path of the square functions accesses bytes outside its
 * buffers. */
static inline int q_pool_fits_dsp(const qn_pool *p, char *why) {
    if (qn_in_range("dim_im_in", p->dim_im_in_x, 1, INT16_MAX, why) != QN_OK) {
        return QN_REFUSED;
    }
    if (p->dim_im_out_x > p->dim_im_in_x) {
        return qn_deny(why, QN_REFUSED,
                       "dim_im_out is %ld, dim_im_in %ld: the DSP path pools rows in place and "
                       "would write after them",
                       (long)p->dim_im_out_x, (long)p->dim_im_in_x);
    }
    int64_t last = (int64_t)(p->dim_im_out_x - 1) * p->stride_x - p->padding_x;
    if (last >= p->dim_im_in_x) {
        return qn_deny(why, QN_REFUSED,
                       "the last window starts at %lld, dim_im_in is %ld: the DSP path always "
                       "reads a window's first pixel, here after Im_in",
                       (long long)last, (long)p->dim_im_in_x);
    }
    return QN_OK;
}

static inline int q_pool_check(const qn_pool *p, int square, qn_sizes *sizes, char *why) {
    if (q_pool_in_range(p, square, why) != QN_OK) {
        return QN_REFUSED;
    }
    int64_t pixels_in = (int64_t)p->dim_im_in_x * p->dim_im_in_y;
    int64_t pixels_out = (int64_t)p->dim_im_out_x * p->dim_im_out_y;
    int64_t most = INT32_MAX / p->ch_im_in;
    if (pixels_in > most || pixels_out > most) {
        return qn_deny(why, QN_REFUSED, "%s has more than 2^31 - 1 elements",
                       pixels_in > most ? "Im_in" : "Im_out");
    }
    int dsp = square && qn_is_dsp(p->profile);
    sizes->in[0] = pixels_in * p->ch_im_in;
    sizes->out = pixels_out * p->ch_im_in;
    sizes->destroys = dsp ? sizes->in[0] : 0;
    return dsp ? q_pool_fits_dsp(p, why) : QN_OK;
}

#endif
