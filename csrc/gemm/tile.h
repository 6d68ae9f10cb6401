/* The engine: packed products of pixels and filters, for any instruction set and output stage.
 *
 *   acc(y, x, o) = start[o] + sum over r, k of step(y, x, r, k) . weights[o][r][k]     modulo 2^32
 *
 * A pixel is `runs` runs of `steps` dwords in an image that was padded beforehand, so that nothing
 * is checked here: a kernel row of a convolution is one run. What a dword holds (four bytes, two
 * halfwords) is between vec_dot() and who packed image and weights.
 *
 * Included once by each file of an instruction set, after
 *   vec, LANES, vec_load(), vec_broadcast()      gemm/<isa>.h
 *   vec_dot()                  one of gemm/<isa>.h, for what a dword holds
 *   MOST_VECTORS               of channels side by side in one pass: 2 or 4
 *   TILE_1, TILE_2, TILE_4     pixels of a tile 1, 2 or 4 vectors of channels wide, such that
 *                              accumulators, weights and a pixel fit the registers
 *   element, stage, stage_put(last, out, next, count, pixels, vectors, acc)
 *                              the arithmetic's last step: stores `count` channels of some pixels,
 *                              which lie `next` elements apart
 *   STAGE_FROM(last, v)        the last step of channels from vector v on, where channels differ in
 *                              it; their order is gemm_channel()'s
 * With FOLDS (16 lanes), one vector of channels is computed 2 or 4 steps at a time where runs are
 * long enough, so that a load serves as many vectors of products:
 *   vec_broadcast_<n>(): n dwords, repeated; vec_spread_<n>(): values, one to every n-th lane;
 *   vec_fold_<n>(): sums of every n neighbouring lanes of n vectors; TILE_FOLD: pixels of two. */
#ifndef QN_GEMM_TILE_H
#define QN_GEMM_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "pack.h"
#include "unroll.h"

#ifndef STAGE_FROM
#define STAGE_FROM(last, v) (*(last))
#endif

/* Where a tile stands: image and output of its first pixel, and its group of channels. */
typedef struct gemm_spot {
    const uint8_t *image;
    element *out;
    const int32_t *start, *weights;
    int count;
} gemm_spot;

/* `pixels` pixels of one row by `vectors` vectors of channels. */
QN_INLINE void tile(const int pixels, const int vectors, const gemm_shape *shape,
                    const gemm_spot *spot, const stage *last) {
    vec acc[16][4];
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        QN_UNROLL
        for (int v = 0; v < vectors; v++) {
            acc[p][v] = vec_load(spot->start + v * LANES);
        }
    }
    const int32_t *weights = spot->weights;
    const ptrdiff_t step = shape->column_step, step3 = 3 * step;
    for (int32_t r = 0; r < shape->runs; r++) {
        const uint8_t *fours[4]; /* pixels 0, 4, 8, 12: the others are reached from these */
        QN_UNROLL
        for (int f = 0; f < 4; f++) {
            fours[f] = spot->image + r * shape->run_step + 4 * f * step;
        }
        for (ptrdiff_t k = 0; k < shape->steps; k++, weights += vectors * LANES) {
            vec w[4];
            QN_UNROLL
            for (int v = 0; v < vectors; v++) {
                w[v] = vec_load(weights + v * LANES);
            }
            QN_UNROLL
            for (int p = 0; p < pixels; p++) {
                const ptrdiff_t within = p % 4 == 3 ? step3 : p % 4 * step;
                vec bytes = vec_broadcast(fours[p / 4] + within + 4 * k);
                QN_UNROLL
                for (int v = 0; v < vectors; v++) {
                    acc[p][v] = vec_dot(acc[p][v], bytes, w[v]);
                }
            }
        }
    }
    stage_put(last, spot->out, shape->pitch, spot->count, pixels, vectors, acc);
}

#if FOLDS
/* `pixels` pixels of one row by one vector of channels, `fold` (2, 4) steps at a time: each channel
 * has as many neighbouring lanes, as gemm_folded_channel() says. */
QN_INLINE void tile_folded(const int pixels, const int fold, const gemm_shape *shape,
                           const gemm_spot *spot, const stage *last) {
    vec acc[16][4];
    QN_UNROLL
    for (int g = 0; g < fold; g++) {
        const int32_t *start = spot->start + LANES / fold * g;
        const vec first = fold == 2 ? vec_spread_2(start) : vec_spread_4(start);
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            acc[p][g] = first;
        }
    }
    const int32_t *weights = spot->weights;
    const ptrdiff_t step = shape->column_step, step3 = 3 * step;
    for (int32_t r = 0; r < shape->runs; r++) {
        const uint8_t *fours[3]; /* as in tile() */
        QN_UNROLL
        for (int f = 0; f < 3; f++) {
            fours[f] = spot->image + r * shape->run_step + 4 * f * step;
        }
        for (ptrdiff_t k = 0; k < shape->steps; k += fold, weights += fold * LANES) {
            vec w[4];
            QN_UNROLL
            for (int g = 0; g < fold; g++) {
                w[g] = vec_load(weights + g * LANES);
            }
            QN_UNROLL
            for (int p = 0; p < pixels; p++) {
                const ptrdiff_t within = p % 4 == 3 ? step3 : p % 4 * step;
                const uint8_t *at = fours[p / 4] + within + 4 * k;
                vec bytes = fold == 2 ? vec_broadcast_2(at) : vec_broadcast_4(at);
                QN_UNROLL
                for (int g = 0; g < fold; g++) {
                    acc[p][g] = vec_dot(acc[p][g], bytes, w[g]);
                }
            }
        }
    }
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        acc[p][0] = fold == 2 ? vec_fold_2(acc[p]) : vec_fold_4(acc[p]);
    }
    stage_put(last, spot->out, shape->pitch, spot->count, pixels, 1, acc);
}
#endif

/* One tile: folded if `vectors` is 0. */
QN_INLINE void any_tile(const int pixels, const int vectors, const gemm_shape *shape,
                        const gemm_spot *spot, const stage *last) {
#if FOLDS
    if (vectors == 0) {
        tile_folded(pixels, 2, shape, spot, last);
        return;
    }
#endif
    tile(pixels, vectors, shape, spot, last);
}

QN_INLINE void rows(const int most, const int vectors, const gemm_shape *shape, gemm_spot spot,
                    const stage *last) {
    for (int32_t y = 0; y < shape->rows; y++) {
        for (int32_t left = shape->columns; left > 0;) {
            const int size = tile_size(most, left, shape->columns);
            const int32_t x = shape->columns - left - (left < size ? size - left : 0);
            gemm_spot at = spot;
            at.image += x * shape->column_step;
            at.out += x * shape->pitch;
            if (size == most) {
                any_tile(most, vectors, shape, &at, last);
            } else if (most > 8 && size == 8) {
                any_tile(8, vectors, shape, &at, last);
            } else if (most > 4 && size == 4) {
                any_tile(4, vectors, shape, &at, last);
            } else if (size == 2) {
                any_tile(2, vectors, shape, &at, last);
            } else {
                any_tile(1, vectors, shape, &at, last);
            }
            left -= size;
        }
        spot.image += shape->row_step;
        spot.out += shape->columns * shape->pitch;
    }
}

static void rows_1(const gemm_shape *shape, const gemm_spot *spot, const stage *last) {
    rows(TILE_1, 1, shape, *spot, last);
}
static void rows_2(const gemm_shape *shape, const gemm_spot *spot, const stage *last) {
    rows(TILE_2, 2, shape, *spot, last);
}
#if MOST_VECTORS >= 4
static void rows_4(const gemm_shape *shape, const gemm_spot *spot, const stage *last) {
    rows(TILE_4, 4, shape, *spot, last);
}
#endif
#if FOLDS
static void rows_folded(const gemm_shape *shape, const gemm_spot *spot, const stage *last) {
    rows(TILE_FOLD, 0, shape, *spot, last);
}
#endif

static void rows_of_group(int group, const gemm_shape *shape, const gemm_spot *spot,
                          const stage *last) {
#if FOLDS
    const int fold = gemm_fold(shape, group);
    if (fold == 4) {
        tile_folded(1, 4, shape, spot, last);
        return;
    }
    if (fold == 2) {
        rows_folded(shape, spot, last);
        return;
    }
#endif
#if MOST_VECTORS >= 4
    if (group == 4) {
        rows_4(shape, spot, last);
        return;
    }
#endif
    if (group == 2) {
        rows_2(shape, spot, last);
    } else {
        rows_1(shape, spot, last);
    }
}

/* All pixels by all channels. packed: start[] of all channels, rounded up to vectors, then the
 * weights, group by group; gemm_pack() has the order. */
static void gemm_run(const gemm_shape *shape, const uint8_t *image, const int32_t *packed,
                     element *out, const stage *last) {
    int64_t vectors = (shape->channels + LANES - 1) / LANES;
    const int32_t *weights = packed + vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        int64_t left = shape->channels - v * LANES;
        gemm_spot spot = {
            .image = image,
            .out = out + v * LANES,
            .start = packed + v * LANES,
            .weights = weights,
            .count = (int)(left < group * LANES ? left : group * LANES),
        };
        const stage here = STAGE_FROM(last, v);
        rows_of_group(group, shape, &spot, &here);
        weights += group * LANES * shape->runs * gemm_steps(shape, group);
    }
}

#endif
