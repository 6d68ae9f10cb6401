/* Layers with weights of the s8 API on the engine and the strips of gemm/: the image of a group
 * padded once into scratch memory, with the zero point beside it; weights packed once at plan time.
 * Included by weighted_s8_<isa>.c after
 *   input, pixel, weight, PER_STEP, OFFSET   an element of the image; how the engine holds
 *                                            image + OFFSET and weights, how many a dword holds
 * and stage_<isa>.h, gemm/strips_<isa>.h, gemm/tile.h.
 *
 * As (in + input_offset) is 0 beside the image, the sums start from bias + input_offset * the sum of
 * the weights, and the edge is -input_offset. Packed are 64 bytes with the kind of the stage, then for
 * each group: the stage's rows, and what the engine packs. */
#ifndef QN_S_WEIGHTED_FAST_H
#define QN_S_WEIGHTED_FAST_H

#include <string.h>

#include "../gemm/image.h"
#include "depthwise_route.h"
#include "layer.h"

/* Each channel for itself goes in strips, unless a row of them is too long. */
static int goes_in_strips(const image_shape *p, strips_shape *shape) {
    if (p->depth != 1 || p->out_c != p->group) {
        return 0;
    }
    *shape = (strips_shape){
        .in_h = p->in_h,
        .in_w = p->in_w,
        .channels = p->group,
        .out_h = p->out_h,
        .out_w = p->out_w,
        .kernel_h = p->kernel_h,
        .kernel_w = p->kernel_w,
        .stride_h = p->stride_h,
        .stride_w = p->stride_w,
        .pad_n = p->pad_n,
        .pad_w = p->pad_w,
        .dilation_h = p->dilation_h,
        .dilation_w = p->dilation_w,
        .edge = p->edge,
    };
    return strips_bytes(shape) >= 0;
}

static int64_t layer_scratch(const s_layer *l) {
    strips_shape strips;
    int64_t base =
        goes_in_strips(&l->image, &strips) ? strips_bytes(&strips) : image_bytes(&l->image);
    return with_repeated(&l->image, l->repeat, base);
}

/* Dwords of the stage's rows, and of all of one group. */
static int64_t stage_dwords(int64_t channels) {
    return (channels + LANES - 1) / LANES * LANES * STAGE_ROWS;
}
static int64_t group_dwords(const gemm_shape *shape) {
    return stage_dwords(shape->channels) + gemm_packed_bytes(shape) / (int64_t)sizeof(int32_t);
}

enum { HEAD = 16 }; /* dwords */

static int64_t layer_packed(const s_layer *l) {
    strips_shape strips;
    if (goes_in_strips(&l->image, &strips)) {
        int64_t rows = stage_dwords(blocks_of(&strips) * LANES);
        return (HEAD + rows) * 4 + strips_packed_bytes(&strips);
    }
    gemm_shape shape = shape_of(&l->image);
    return (HEAD + l->image.group * group_dwords(&shape)) * 4;
}

#include "weighted_pack.h"

static void run_groups(const s_layer *l, const qn_buffers *b, const input *in, void *scratch,
                       int8_t *out) {
    const stage_kind kind = (stage_kind)((const int32_t *)b->packed)[0];
    const gemm_shape shape = shape_of(&l->image);
    const int32_t *packed = (const int32_t *)b->packed + HEAD;
    for (int32_t g = 0; g < l->image.group; g++, packed += group_dwords(&shape)) {
        stage last = stage_of(&l->last, kind, packed);
        pad_image(&l->image, in + (int64_t)g * l->image.depth, scratch);
        gemm_run(&shape, scratch, packed + stage_dwords(shape.channels),
                 out + (int64_t)g * shape.channels, &last);
    }
}

static int layer_run(const s_layer *l, const qn_buffers *b) {
    const image_shape *p = &l->image;
    const input *in = b->in[0];
    int8_t *out = b->out;
    strips_shape strips;
    int in_strips = goes_in_strips(p, &strips);
    void *scratch = (char *)b->scratch + repeated_bytes(p, l->repeat);
    for (int32_t n = 0; n < l->batches; n++) {
        const input *image = repeated(p, l->repeat, in, b->scratch);
        if (in_strips) {
            const int32_t *packed = (const int32_t *)b->packed + HEAD;
            stage last = stage_of(&l->last, (stage_kind)packed[-HEAD], packed);
            packed += stage_dwords(blocks_of(&strips) * LANES);
            strips_run(&strips, image, scratch, packed, out, &last);
        } else {
            run_groups(l, b, image, scratch, out);
        }
        in += (int64_t)p->in_h * p->in_w * p->group * p->depth / l->repeat;
        out += (int64_t)p->out_h * p->out_w * p->out_c;
    }
    return QN_OK;
}

/* Arm's one-row convolutions on MVE are an own computation, which the plain row knows. */
static int64_t convolve_scratch(const qn_s_conv *p) {
    if (qn_path(p->profile) == QN_PATH_MVE && p->input_h == 1 && p->filter_h == 1) {
        return QN_NOT_TAKEN;
    }
    const s_layer layer = layer_of_convolve(p, NULL, NULL);
    return layer_scratch(&layer);
}

/* Where the functions for any shape meet an odd number of channels, they read other nibbles. */
static inline int64_t depthwise_s4_scratch(const qn_s_depthwise *p) {
    if (p->input_c % 2 != 0 && s_depthwise_s4_route(p) != QN_S_OPT) {
        return QN_NOT_TAKEN;
    }
    const s_layer layer = layer_of_depthwise(p, NULL, NULL);
    return layer_scratch(&layer);
}

/* Weights of 4 bits have no offset. */
static inline int64_t dense_s4_scratch(const qn_s_fc *p) {
    const s_layer layer = layer_of_dense(p, NULL, NULL, 0);
    return layer_scratch(&layer);
}

/* With an offset of the weights sums would depend on the sum of the vector, too. */
static int64_t dense_scratch(const qn_s_fc *p) {
    const s_layer layer = layer_of_dense(p, NULL, NULL, 0);
    return p->filter_offset == 0 ? layer_scratch(&layer) : QN_NOT_TAKEN;
}

#endif
