/* The order of packed weights: what tile.h reads, made once at plan time. Included by tile.h, after
 * LANES, FOLDS and MOST_VECTORS. */
#ifndef QN_GEMM_PACK_H
#define QN_GEMM_PACK_H

#include <stdint.h>

/* All _step count bytes of the image; pitch: elements of the output from pixel to pixel. */
typedef struct gemm_shape {
    int32_t rows, columns, channels;
    int32_t runs, steps;
    int64_t row_step, column_step, run_step, pitch;
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
