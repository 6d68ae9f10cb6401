/* Exact sums of 16-bit products on the 32 bits of the engine of gemm/, part by part.
 *
 * A weight is 256 * high + low with low in -128..127, so that high is in -128..128: a product of
 * either with a value of 16 bits is 2^22 at most. The engine sums MOST_STEPS dwords of such products,
 * 510 of them, below 510 * 2^22 < 2^31; these parts are added up in 64 bits, the high ones times 256.
 *
 * Included by convolve_s16_fast.h after gemm/<isa>.h and vec_dot. */
#ifndef QN_NPU_PARTS_FAST_H
#define QN_NPU_PARTS_FAST_H

#include <string.h>

#include "convolve.h"

#include "../gemm/unroll.h"

typedef int16_t input;
typedef int16_t pixel;
enum { PER_STEP = 2, OFFSET = 0, MOST_STEPS = 255 };

/* The last step of a part: sums as they are, in the order of the channels, whole vectors. */
typedef int32_t element;
typedef char stage;

QN_INLINE void stage_put(const stage *last, int32_t *out, int64_t next, int count, const int pixels,
                         const int vectors, vec acc[16][4]) {
    (void)last, (void)count;
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        QN_UNROLL
        for (int v = 0; v < vectors; v++) {
            int32_t lanes[LANES];
            memcpy(lanes, &acc[p][v], sizeof lanes);
            QN_UNROLL
            for (int i = 0; i < LANES; i += 4) {
                memcpy(out + p * next + i * vectors + 4 * v, lanes + i, 4 * sizeof *lanes);
            }
        }
    }
}

#include "../gemm/tile.h"

#include "image_fast.h"

/* Some steps of some runs of a window. */
typedef struct part {
    int32_t run, runs, step, steps;
} part;

static inline int32_t parts_of(const gemm_shape *shape) {
    int32_t in_a_run = (shape->steps + MOST_STEPS - 1) / MOST_STEPS;
    int32_t runs = MOST_STEPS / shape->steps;
    return in_a_run > 1 ? shape->runs * in_a_run : (shape->runs + runs - 1) / runs;
}

static inline part part_at(const gemm_shape *shape, int32_t i) {
    int32_t in_a_run = (shape->steps + MOST_STEPS - 1) / MOST_STEPS;
    if (in_a_run > 1) {
        int32_t step = i % in_a_run * MOST_STEPS, left = shape->steps - step;
        return (part){i / in_a_run, 1, step, left < MOST_STEPS ? left : MOST_STEPS};
    }
    int32_t runs = MOST_STEPS / shape->steps, left = shape->runs - i * runs;
    return (part){i * runs, left < runs ? left : runs, 0, shape->steps};
}

/* What the engine computes of a part, for one row of at most BLOCK pixels. */
static gemm_shape shape_of_part(const gemm_shape *shape, part of, int32_t columns) {
    gemm_shape own = *shape;
    own.rows = 1;
    own.columns = columns;
    own.runs = of.runs;
    own.steps = of.steps;
    own.pitch = ((int64_t)shape->channels + 4 * LANES - 1) / (4 * LANES) * (4 * LANES);
    return own;
}

/* Filters of one part as gemm_pack() asks for them. */
typedef struct filters {
    const int16_t *weights; /* of one group */
    int64_t length, run;    /* weights of a filter, and of one of its runs */
    int32_t channels;
    part of;
    int high;
} filters;

static int32_t no_start(const void *context, int64_t o) {
    (void)context, (void)o;
    return 0;
}

static uint32_t half_weights(const void *context, int64_t o, int64_t r, int64_t k) {
    const filters *f = context;
    int16_t step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < f->channels && k < f->of.steps; i++) {
        int64_t at = (f->of.step + k) * PER_STEP + i;
        int32_t w = at < f->run ? f->weights[o * f->length + (f->of.run + r) * f->run + at] : 0;
        int32_t low = ((w + 128) & 255) - 128;
        step[i] = (int16_t)(f->high ? (w - low) / 256 : low);
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

/* Dwords of one half of one part. */
static int64_t part_dwords(const gemm_shape *shape, part of) {
    gemm_shape own = shape_of_part(shape, of, 1);
    return gemm_packed_bytes(&own) / (int64_t)sizeof(int32_t);
}

#endif
