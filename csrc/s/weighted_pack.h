/* Weights of s8 layers as the engine and the strips read them, and the rows of their stage; made once,
 * at plan time. Included by weighted_fast.h. */
#ifndef QN_S_WEIGHTED_PACK_H
#define QN_S_WEIGHTED_PACK_H

/* Filters of one group as gemm_pack() and strips_pack() ask for them. */
typedef struct filters {
    const s_layer *layer;
    gemm_shape shape;
    int64_t first; /* output channel */
} filters;

static int32_t weight_at(const filters *f, int64_t o, int64_t i) {
    return layer_weight(f->layer, f->first + o, i);
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

/* No sum of a channel passes |bias| + the most of |in + input_offset|, times those of the weights. */
static stage_channel channel_of(const s_layer *l, int64_t o) {
    const int64_t most = l->image.edge < 0 ? 127 - l->image.edge : 128 + l->image.edge;
    int64_t sum = 0;
    for (int64_t i = 0; i < image_taps(&l->image); i++) {
        const int32_t w = layer_weight(l, o, i);
        sum += w < 0 ? -w : w;
    }
    int64_t bias = l->q.bias[o];
    return (stage_channel){l->q.multiplier[o * l->pair_step], l->q.shift[o * l->pair_step],
                           (bias < 0 ? -bias : bias) + most * sum};
}

/* The rows of channels as one kind of stage reads them, and the last proof of floats. */
typedef struct stage_packer {
    const s_layer *layer;
    stage_kind kind;
    int64_t first; /* output channel */
    int known;
    stage_channel channel;
    stage_scale scale;
} stage_packer;

/* Channels with the same pair share a proof. */
static int has_scale(stage_packer *k, const stage_channel *c) {
    if (!stage_is_quick(c, &k->layer->last)) {
        return 0;
    }
    if (!k->known || k->channel.multiplier != c->multiplier || k->channel.shift != c->shift) {
        k->channel = *c;
        k->known = stage_float_of(c, &k->layer->last, &k->scale);
    }
    return k->known;
}

/* 0: the channel cannot be of the kind. */
static int pack_lane_of(stage_packer *k, int64_t o, int32_t *rows, int lane) {
    const stage_channel c = channel_of(k->layer, k->first + o);
    if (k->kind != STAGE_FLOAT) {
        return stage_pack_lane(rows, LANES, lane, k->kind, &c, &k->layer->last);
    }
    if (!has_scale(k, &c)) {
        return 0;
    }
    memcpy(rows + SCALE * LANES + lane, &k->scale.scale, sizeof(float));
    memcpy(rows + REST * LANES + lane, &k->scale.rest, sizeof(float));
    memcpy(rows + HALF * LANES + lane, &k->scale.half, sizeof(float));
    return 1;
}

static int pack_stage(stage_packer *k, int32_t channels, int32_t *rows) {
    int64_t vectors = ((int64_t)channels + LANES - 1) / LANES;
    int group, holds = 1;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        for (int i = 0; i < group * LANES && holds; i++) {
            int64_t o = v * LANES + gemm_channel(group, i / LANES, i % LANES);
            int32_t *of_vector = rows + (v + i / LANES) * STAGE_ROWS * LANES;
            holds = pack_lane_of(k, o < channels ? o : 0, of_vector, i % LANES);
        }
    }
    return holds;
}

static int pack_strips_stage(stage_packer *k, const strips_shape *shape, int32_t *rows) {
    const int32_t lanes = blocks_of(shape) * LANES;
    int holds = 1;
    for (int32_t lane = 0; lane < lanes && holds; lane++) {
        const int32_t c = strip_channel(shape, lane);
        holds = pack_lane_of(k, c < shape->channels ? c : 0,
                             rows + (int64_t)(lane / LANES) * STAGE_ROWS * LANES, lane % LANES);
    }
    return holds;
}

/* All groups' rows; strips: NULL where the engine computes. */
static int pack_stages(const s_layer *l, stage_kind kind, const strips_shape *strips,
                       int32_t *packed) {
    const gemm_shape shape = shape_of(&l->image);
    stage_packer k = {.layer = l, .kind = kind};
    if (strips) {
        return pack_strips_stage(&k, strips, packed);
    }
    int holds = 1;
    for (int32_t g = 0; g < l->image.group && holds; g++, packed += group_dwords(&shape)) {
        holds = pack_stage(&k, shape.channels, packed);
        k.first += shape.channels;
    }
    return holds;
}

static void layer_pack(const s_layer *l, int32_t *packed) {
    filters f = {l, shape_of(&l->image), 0};
    strips_shape strips;
    const int in_strips = goes_in_strips(&l->image, &strips);
    stage_kind kind = STAGE_FLOAT;
    memset(packed, 0, HEAD * sizeof(int32_t));
    while (!pack_stages(l, kind, in_strips ? &strips : NULL, packed + HEAD)) {
        kind = kind == STAGE_FLOAT ? STAGE_QUICK : STAGE_EXACT;
    }
    packed[0] = (int32_t)kind;
    packed += HEAD;
    if (in_strips) {
        strips_filters of = {&f, strips_start_of, strips_weight_of};
        strips_pack(&strips, &of, packed + stage_dwords(blocks_of(&strips) * LANES));
        return;
    }
    gemm_filters of = {&f, gemm_start_of, gemm_weights_of};
    for (int32_t g = 0; g < l->image.group; g++, f.first += f.shape.channels) {
        gemm_pack(&f.shape, &of, packed + stage_dwords(f.shape.channels));
        packed += group_dwords(&f.shape);
    }
}

#endif
