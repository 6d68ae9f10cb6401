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
#include "layer.h"

/* Filters of one group as gemm_pack() and strips_pack() ask for them. */
typedef struct filters {
    const s_layer *layer;
    gemm_shape shape;
    stage_kind kind;
    int64_t first; /* output channel */
} filters;

static int32_t weight_at(const filters *f, int64_t o, int64_t i) {
    const s_layer *l = f->layer;
    return l->weights[(f->first + o) * l->channel_step + i * l->tap_step];
}

/* bias + (input_offset - more) * the sum of the weights, modulo 2^32. */
static int32_t start_less(const filters *f, int64_t o, int32_t more) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < image_taps(&f->layer->image); i++) {
        sum += (uint32_t)weight_at(f, o, i);
    }
    uint32_t offset = (uint32_t)(-f->layer->image.edge - more);
    return qn_wrap32((uint32_t)f->layer->q.bias[f->first + o] + offset * sum);
}

static int32_t gemm_start_of(const void *context, int64_t o) {
    const filters *f = context;
    return o < f->shape.channels ? start_less(f, o, OFFSET) : 0;
}

static uint32_t gemm_weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const filters *f = context;
    int64_t run = image_taps(&f->layer->image) / f->shape.runs;
    weight step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < f->shape.channels; i++) {
        int64_t at = k * PER_STEP + i;
        step[i] = at < run ? (weight)weight_at(f, o, r * run + at) : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

static int32_t strips_start_of(const void *context, int64_t c) { return start_less(context, c, 0); }

static int32_t strips_weight_of(const void *context, int64_t c, int64_t ky, int64_t kx) {
    const filters *f = context;
    return weight_at(f, c, ky * f->layer->image.kernel_w + kx);
}

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
    return goes_in_strips(&l->image, &strips) ? strips_bytes(&strips) : image_bytes(&l->image);
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

/* No sum of a channel passes |bias| + the most of |in + input_offset|, times those of the weights. */
static stage_channel channel_of(const s_layer *l, int64_t o) {
    const int64_t most = l->image.edge < 0 ? 127 - l->image.edge : 128 + l->image.edge;
    const int8_t *weights = l->weights + o * l->channel_step;
    int64_t sum = 0;
    for (int64_t i = 0; i < image_taps(&l->image); i++, weights += l->tap_step) {
        sum += *weights < 0 ? -*weights : *weights;
    }
    int64_t bias = l->q.bias[o];
    return (stage_channel){l->q.multiplier[o * l->pair_step], l->q.shift[o * l->pair_step],
                           (bias < 0 ? -bias : bias) + most * sum};
}

static stage_kind kind_of(const s_layer *l) {
    if (qn_rounding(l->last.profile) == QN_SINGLE) {
        return STAGE_SINGLE;
    }
    for (int64_t o = 0; o < l->image.out_c; o++) {
        const stage_channel channel = channel_of(l, o);
        if (!stage_is_quick(&channel)) {
            return STAGE_DOUBLE;
        }
    }
    return STAGE_QUICK;
}

static void pack_lane_of(const filters *f, int64_t o, int32_t *rows, int lane) {
    const stage_channel channel = channel_of(f->layer, f->first + o);
    stage_pack_lane(rows, LANES, lane, f->kind, &channel, f->layer->last.output_offset);
}

static void pack_stage(const filters *f, int32_t *rows) {
    int64_t vectors = ((int64_t)f->shape.channels + LANES - 1) / LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        for (int i = 0; i < group * LANES; i++) {
            int64_t o = v * LANES + gemm_channel(group, i / LANES, i % LANES);
            int32_t *of_vector = rows + (v + i / LANES) * STAGE_ROWS * LANES;
            int64_t held = o < f->shape.channels ? o : 0;
            pack_lane_of(f, held, of_vector, i % LANES);
        }
    }
}

static void pack_strips(const strips_shape *shape, const filters *f, int32_t *packed) {
    strips_filters of = {f, strips_start_of, strips_weight_of};
    int32_t lanes = blocks_of(shape) * LANES;
    for (int32_t lane = 0; lane < lanes; lane++) {
        int32_t c = lane % pitch_of(shape);
        int32_t *rows = packed + (int64_t)(lane / LANES) * STAGE_ROWS * LANES;
        pack_lane_of(f, c < shape->channels ? c : 0, rows, lane % LANES);
    }
    strips_pack(shape, &of, packed + stage_dwords(lanes));
}

static void layer_pack(const s_layer *l, int32_t *packed) {
    filters f = {l, shape_of(&l->image), kind_of(l), 0};
    strips_shape strips;
    memset(packed, 0, HEAD * sizeof(int32_t));
    packed[0] = (int32_t)f.kind;
    packed += HEAD;
    if (goes_in_strips(&l->image, &strips)) {
        pack_strips(&strips, &f, packed);
        return;
    }
    gemm_filters of = {&f, gemm_start_of, gemm_weights_of};
    for (int32_t g = 0; g < l->image.group; g++, f.first += f.shape.channels) {
        pack_stage(&f, packed);
        gemm_pack(&f.shape, &of, packed + stage_dwords(f.shape.channels));
        packed += group_dwords(&f.shape);
    }
}

static void run_groups(const s_layer *l, const qn_buffers *b, const input *in, int8_t *out) {
    const stage_kind kind = (stage_kind)((const int32_t *)b->packed)[0];
    const gemm_shape shape = shape_of(&l->image);
    const int32_t *packed = (const int32_t *)b->packed + HEAD;
    for (int32_t g = 0; g < l->image.group; g++, packed += group_dwords(&shape)) {
        stage last = stage_of(&l->last, kind, packed);
        pad_image(&l->image, in + (int64_t)g * l->image.depth, b->scratch);
        gemm_run(&shape, b->scratch, packed + stage_dwords(shape.channels),
                 out + (int64_t)g * shape.channels, &last);
    }
}

static int layer_run(const s_layer *l, const qn_buffers *b) {
    const image_shape *p = &l->image;
    const input *in = b->in[0];
    int8_t *out = b->out;
    strips_shape strips;
    int in_strips = goes_in_strips(p, &strips);
    for (int32_t n = 0; n < l->batches; n++) {
        if (in_strips) {
            const int32_t *packed = (const int32_t *)b->packed + HEAD;
            stage last = stage_of(&l->last, (stage_kind)packed[-HEAD], packed);
            packed += stage_dwords(blocks_of(&strips) * LANES);
            strips_run(&strips, in, b->scratch, packed, out, &last);
        } else {
            run_groups(l, b, in, out);
        }
        in += (int64_t)p->in_h * p->in_w * p->group * p->depth;
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

/* With an offset of the weights sums would depend on the sum of the vector, too. */
static int64_t dense_scratch(const qn_s_fc *p) {
    const s_layer layer = layer_of_dense(p, NULL, NULL, 0);
    return p->filter_offset == 0 ? layer_scratch(&layer) : QN_NOT_TAKEN;
}

#endif
