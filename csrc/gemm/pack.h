/* The order of packed weights: what tile.h reads, made once at plan time. Included by tile.h, after
 * LANES, FOLDS and MOST_VECTORS. */
#ifndef QN_GEMM_PACK_H
#define QN_GEMM_PACK_H

#include <stdint.h>

#include "order.h"

/* All _step count bytes of the image; pitch: elements of the output from pixel to pixel. alone: may
 * be 1 where there is but one pixel. */
typedef struct gemm_shape {
    int32_t rows, columns, channels, alone;
    int32_t runs, steps;
    int64_t row_step, column_step, run_step, pitch;
} gemm_shape;

/* Steps that a group of one vector goes at a time: four where a pixel is alone, so that sums do not
 * wait for each other, or else two; 1 if runs are too short for that. */
static inline int gemm_fold(const gemm_shape *shape, int group) {
    if (!FOLDS || group != 1) {
        return 1;
    }
    if (shape->alone) {
        return shape->steps % 4 == 0 || shape->steps > 8 ? 4 : 1;
    }
    return shape->steps % 2 == 0 || shape->steps > 4 ? 2 : 1;
}

/* The channel of a lane of vector v, where each channel has `fold` neighbouring lanes. */
static inline int gemm_folded_channel(int fold, int v, int lane) {
    return lane / 4 * 4 + 4 / fold * v + lane % 4 / fold;
}

/* Steps of a run as they are packed. */
static inline int64_t gemm_steps(const gemm_shape *shape, int group) {
    const int fold = gemm_fold(shape, group);
    return (int64_t)(shape->steps + fold - 1) / fold * fold;
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

/* One group of one vector, folded. */
static void gemm_pack_folded(const gemm_shape *shape, const gemm_filters *of, int fold,
                             int64_t first, int32_t *start, uint32_t *weights) {
    for (int i = 0; i < LANES; i++) {
        const int channel = gemm_folded_channel(fold, i * fold / LANES, i * fold % LANES);
        start[i] = of->start(of->context, first + channel);
    }
    for (int64_t r = 0; r < shape->runs; r++) {
        for (int64_t k = 0; k < gemm_steps(shape, 1); k += fold) {
            for (int i = 0; i < LANES * fold; i++) {
                const int channel = gemm_folded_channel(fold, i / LANES, i % LANES);
                *weights++ = of->weights(of->context, first + channel, r, k + i % fold);
            }
        }
    }
}

static void gemm_pack_group(const gemm_shape *shape, const gemm_filters *of, int group,
                            int64_t first, int32_t *start, uint32_t *weights) {
    for (int i = 0; i < group * LANES; i++) {
        start[i] = of->start(of->context, first + gemm_channel(group, i / LANES, i % LANES));
    }
    for (int64_t r = 0; r < shape->runs; r++) {
        for (int64_t k = 0; k < shape->steps; k++) {
            for (int i = 0; i < group * LANES; i++) {
                const int channel = gemm_channel(group, i / LANES, i % LANES);
                *weights++ = of->weights(of->context, first + channel, r, k);
            }
        }
    }
}

static inline void gemm_pack(const gemm_shape *shape, const gemm_filters *of, int32_t *packed) {
    int64_t vectors = (shape->channels + LANES - 1) / LANES;
    uint32_t *weights = (uint32_t *)packed + vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group, packed += group * LANES) {
        group = gemm_group(vectors - v);
        const int fold = gemm_fold(shape, group);
        if (fold > 1) {
            gemm_pack_folded(shape, of, fold, v * LANES, packed, weights);
        } else {
            gemm_pack_group(shape, of, group, v * LANES, packed, weights);
        }
        weights += group * LANES * shape->runs * gemm_steps(shape, group);
    }
}

#endif
