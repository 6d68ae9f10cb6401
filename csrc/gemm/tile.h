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
 * With FOLDS (16 lanes), one vector of channels is computed four steps at a time where runs are
 * long enough, so that a load serves four channels' worth of products:
 *   vec_broadcast_4(): four dwords, repeated; vec_spread(): four values, one to every fourth lane;
 *   vec_fold(): sums of every four neighbouring lanes of four vectors; TILE_FOLD: pixels. */
#ifndef QN_GEMM_TILE_H
#define QN_GEMM_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "unroll.h"

/* All _step count bytes of the image. */
typedef struct gemm_shape {
    int32_t rows, columns, channels;
    int32_t runs, steps;
    int64_t row_step, column_step, run_step;
} gemm_shape;

/* Vectors of channels side by side in one pass: 4 while there are as many, then 2, then 1. */
static inline int gemm_group(int64_t vectors_left) {
    return vectors_left >= 4 && MOST_VECTORS >= 4 ? 4 : vectors_left >= 2 ? 2 : 1;
}

/* The channel, in its group, of a lane of one of the group's vectors: such that saturating packs,
 * which work on quarters of a vector, leave the channels in order. */
static inline int gemm_channel(int group, int v, int lane) {
    return lane / 4 * 4 * group + 4 * v + lane % 4;
}

/* Does a group of one vector go four steps at a time? */
static inline int gemm_folds(const gemm_shape *shape, int group) {
    return FOLDS && group == 1 && (shape->steps % 4 == 0 || shape->steps > 8);
}

/* Steps of a run as they are packed. */
static inline int64_t gemm_steps(const gemm_shape *shape, int group) {
    return gemm_folds(shape, group) ? (shape->steps + 3) / 4 * 4 : shape->steps;
}

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
    stage_put(last, spot->out, shape->channels, spot->count, pixels, vectors, acc);
}

#if FOLDS
/* `pixels` pixels of one row by one vector of channels, four steps at a time: vector g holds the
 * products of four steps with channels g, 4 + g, 8 + g, 12 + g. */
QN_INLINE void tile_folded(const int pixels, const gemm_shape *shape, const gemm_spot *spot,
                           const stage *last) {
    vec acc[16][4];
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        QN_UNROLL
        for (int g = 0; g < 4; g++) {
            acc[p][g] = vec_spread(spot->start + 4 * g);
        }
    }
    const int32_t *weights = spot->weights;
    for (int32_t r = 0; r < shape->runs; r++) {
        const uint8_t *run = spot->image + r * shape->run_step;
        for (ptrdiff_t k = 0; k < shape->steps; k += 4, weights += 4 * LANES) {
            vec w[4];
            QN_UNROLL
            for (int g = 0; g < 4; g++) {
                w[g] = vec_load(weights + g * LANES);
            }
            QN_UNROLL
            for (int p = 0; p < pixels; p++) {
                vec bytes = vec_broadcast_4(run + p * shape->column_step + 4 * k);
                QN_UNROLL
                for (int g = 0; g < 4; g++) {
                    acc[p][g] = vec_dot(acc[p][g], bytes, w[g]);
                }
            }
        }
    }
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        acc[p][0] = vec_fold(acc[p]);
    }
    stage_put(last, spot->out, shape->channels, spot->count, pixels, 1, acc);
}
#endif

/* One tile: folded if `vectors` is 0. */
QN_INLINE void any_tile(const int pixels, const int vectors, const gemm_shape *shape,
                        const gemm_spot *spot, const stage *last) {
#if FOLDS
    if (vectors == 0) {
        tile_folded(pixels, shape, spot, last);
        return;
    }
#endif
    tile(pixels, vectors, shape, spot, last);
}

/* One row of pixels, `most` at a time; a last tile of that size may overlap the one before. */
QN_INLINE void row(const int most, const int vectors, const gemm_shape *shape, gemm_spot spot,
                   const stage *last) {
    int32_t left = shape->columns;
    int done;
    for (; left > 0; left -= done) {
        if (left >= most) {
            any_tile(most, vectors, shape, &spot, last);
            done = most;
        } else if (shape->columns >= most && left > most / 2) {
            spot.image -= (most - left) * shape->column_step;
            spot.out -= (ptrdiff_t)(most - left) * shape->channels;
            any_tile(most, vectors, shape, &spot, last);
            done = left;
        } else if (most > 4 && left >= 4) {
            any_tile(4, vectors, shape, &spot, last);
            done = 4;
        } else if (left >= 2) {
            any_tile(2, vectors, shape, &spot, last);
            done = 2;
        } else {
            any_tile(1, vectors, shape, &spot, last);
            done = 1;
        }
        spot.image += done * shape->column_step;
        spot.out += (ptrdiff_t)done * shape->channels;
    }
}

/* All rows, in tiles of 8 where that leaves nothing over. */
QN_INLINE void rows(const int most, const int vectors, const gemm_shape *shape, gemm_spot spot,
                    const stage *last) {
    int eights = most > 8 && shape->columns % most != 0 && shape->columns % 8 == 0;
    for (int32_t y = 0; y < shape->rows; y++) {
        if (eights) {
            row(8 < most ? 8 : most, vectors, shape, spot, last);
        } else {
            row(most, vectors, shape, spot, last);
        }
        spot.image += shape->row_step;
        spot.out += (ptrdiff_t)shape->columns * shape->channels;
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
    if (gemm_folds(shape, group)) {
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
        rows_of_group(group, shape, &spot, last);
        weights += group * LANES * shape->runs * gemm_steps(shape, group);
    }
}

/* Bytes of start[] and weights, packed. */
static int64_t gemm_packed_bytes(const gemm_shape *shape) {
    int64_t vectors = (shape->channels + LANES - 1) / LANES, dwords = vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        dwords += group * LANES * shape->runs * gemm_steps(shape, group);
    }
    return dwords * (int64_t)sizeof(int32_t);
}

/* Packs start[o] and weights, which the caller knows by channel, run and step. `of` answers for
 * channels and steps beyond the last as well. */
typedef struct gemm_filters {
    const void *context;
    int32_t (*start)(const void *context, int64_t channel);
    uint32_t (*weights)(const void *context, int64_t channel, int64_t run, int64_t step);
} gemm_filters;

static void gemm_pack(const gemm_shape *shape, const gemm_filters *of, int32_t *packed) {
    int64_t vectors = (shape->channels + LANES - 1) / LANES;
    uint32_t *weights = (uint32_t *)packed + vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group, packed += group * LANES) {
        group = gemm_group(vectors - v);
        int folds = gemm_folds(shape, group);
        int64_t first = v * LANES;
        for (int i = 0; i < group * LANES; i++) {
            int channel = folds ? i % 4 * 4 + i / 4 : gemm_channel(group, i / LANES, i % LANES);
            packed[i] = of->start(of->context, first + channel);
        }
        for (int64_t r = 0; r < shape->runs; r++) {
            for (int64_t k = 0; k < gemm_steps(shape, group); k += folds ? 4 : 1) {
                for (int i = 0; i < group * LANES * (folds ? 4 : 1); i++) {
                    int channel =
                        folds ? i % 16 / 4 * 4 + i / 16 : gemm_channel(group, i / LANES, i % LANES);
                    int64_t step = folds ? k + i % 4 : k;
                    *weights++ = of->weights(of->context, first + channel, r, step);
                }
            }
        }
    }
}

#endif
