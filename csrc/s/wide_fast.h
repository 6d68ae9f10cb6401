/* Layers with weights of the s16 API on the engine of gemm/: halfwords, two products in a dword.
 * Included by weighted_s16_<isa>.c after
 *   stage_s16_<isa>.h, vec_dot, gemm/tile.h
 *
 * How sums are computed is settled at plan time, by the weights:
 *   SUMS_32      no sum leaves 32 bits (or they are modulo 2^32 on the device): the engine's
 *   SUMS_64      255 steps at a time, 510 products below 2^31, and these in 64 bits
 *   SUMS_PLAIN   left to the plain row: the device's first 512 products may wrap around, or lanes of
 *                Helium have other bits
 * Packed are 64 bytes with that, then for each group: the stage's rows, and what the engine packs. */
#ifndef QN_S_WIDE_FAST_H
#define QN_S_WIDE_FAST_H

#include <string.h>

typedef int16_t input;
typedef int16_t pixel;
enum { PER_STEP = 2, OFFSET = 0 };

#include "../gemm/image.h"
#include "wide_layer.h"

/* Elements that the engine reads at a time. */
enum { MOST_READ = (FOLDS ? 4 : 1) * PER_STEP };
enum { SUMS_32, SUMS_64, SUMS_PLAIN };
enum { HEAD = 16 }; /* dwords */

static int64_t stage_dwords(int64_t channels) {
    return (channels + LANES - 1) / LANES * LANES * STAGE_ROWS;
}

static int64_t group_dwords(const gemm_shape *shape) {
    return stage_dwords(shape->channels) + gemm_packed_bytes(shape) / (int64_t)sizeof(int32_t);
}

static int64_t wide_packed(const s_wide_layer *l) {
    gemm_shape shape = shape_of(&l->image);
    return (HEAD + l->image.group * group_dwords(&shape)) * 4;
}

/* May the engine read the image where it is: no edge, and no step that ends behind a run? */
static int lies_ready(const image_shape *p) {
    return p->group == 1 && p->pad_n == 0 && p->pad_w == 0 && p->dilation_w == 1 &&
           width_of(p) == p->in_w && height_of(p) <= p->in_h &&
           p->depth * (int64_t)p->kernel_w % MOST_READ == 0;
}

static int64_t wide_scratch(const s_wide_layer *l) {
    const int64_t base = lies_ready(&l->image) ? 0 : image_bytes(&l->image);
    return with_repeated(&l->image, l->repeat, base);
}

#include "wide_pack.h"
#include "wide_tile.h"

static void run_group(const s_wide_layer *l, const wide_spot *at, const gemm_shape *shape,
                      const void *image) {
    const stage last = stage_of(&l->last, l->narrow, at->packed);
    if (at->sums == SUMS_64) {
        wide_run(l, at, shape, image);
    } else {
        gemm_run(shape, image, at->packed + stage_dwords(shape->channels), at->out, &last);
    }
}

static int wide_layer_run(const s_wide_layer *l, const qn_buffers *b) {
    const image_shape *p = &l->image;
    const gemm_shape shape = shape_of(p);
    const int ready = lies_ready(p);
    const input *in = b->in[0];
    int16_t *out = b->out;
    char *scratch = (char *)b->scratch + repeated_bytes(p, l->repeat);
    for (int32_t n = 0; n < l->batches; n++) {
        const input *whole = repeated(p, l->repeat, in, b->scratch);
        wide_spot at = {((const int32_t *)b->packed)[0], (const int32_t *)b->packed + HEAD, out, 0};
        for (int32_t g = 0; g < p->group; g++) {
            if (!ready) {
                pad_image(p, whole + (int64_t)g * p->depth, (pixel *)(void *)scratch);
            }
            run_group(l, &at, &shape, ready ? (const void *)whole : scratch);
            at.packed += group_dwords(&shape);
            at.out += shape.channels;
            at.first += shape.channels;
        }
        in += (int64_t)p->in_h * p->in_w * p->group * p->depth / l->repeat;
        out += (int64_t)p->out_h * p->out_w * p->out_c;
    }
    return QN_OK;
}

static int is_plain(const qn_buffers *b) { return ((const int32_t *)b->packed)[0] == SUMS_PLAIN; }

#endif
