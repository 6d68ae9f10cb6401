/* Weights of s16 layers as the engine reads them, and the rows of their stage; made once, at plan
 * time. Included by wide_fast.h. */
#ifndef QN_S_WIDE_PACK_H
#define QN_S_WIDE_PACK_H

/* Filters of one group as gemm_pack() asks for them. */
typedef struct filters {
    const s_wide_layer *layer;
    gemm_shape shape;
    int64_t first; /* output channel */
    int with_bias;
} filters;

static int32_t gemm_start_of(const void *context, int64_t o) {
    const filters *f = context;
    return o < f->shape.channels && f->with_bias ? s_low(f->layer->q.bias[f->first + o]) : 0;
}

static uint32_t gemm_weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const filters *f = context;
    const s_wide_layer *l = f->layer;
    const int64_t run = image_taps(&l->image) / f->shape.runs;
    int16_t step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < f->shape.channels; i++) {
        const int64_t at = k * PER_STEP + i, tap = r * run + at;
        step[i] = at < run ? l->weights[(f->first + o) * l->channel_step + tap * l->tap_step] : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

/* Lane of a vector; c: its channel. */
static void pack_wide_lane(const s_wide_layer *l, const stage_channel *c, int32_t *rows, int lane) {
    if (l->narrow) {
        (void)stage_pack_lane(rows, LANES, lane, STAGE_EXACT, c, &l->last);
        return;
    }
    const int32_t multiplier = qn_multiplier16(c->multiplier);
    rows[MULTIPLIER * LANES + lane] = multiplier;
    if (lane % 2) {
        rows[MULT_ODD * LANES + lane - 1] = multiplier;
    }
    rows[RIGHT * LANES + lane] = 14 - qn_clamp(c->shift, -31, 7);
}

/* The rows of one group's channels, of which `first` is the first. */
static void pack_wide_stage(const s_wide_layer *l, int64_t first, int32_t channels, int32_t *rows) {
    int64_t vectors = ((int64_t)channels + LANES - 1) / LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        for (int i = 0; i < group * LANES; i++) {
            int64_t o = v * LANES + gemm_channel(group, i / LANES, i % LANES);
            const stage_channel c = wide_channel(l, first + (o < channels ? o : 0));
            pack_wide_lane(l, &c, rows + (v + i / LANES) * STAGE_ROWS * LANES, i % LANES);
        }
    }
}

/* In the order of gemm_pack(), but never folded: a group is all it takes. */
static void pack_unfolded(const filters *f, const gemm_filters *of, int32_t *packed) {
    int64_t vectors = (f->shape.channels + LANES - 1) / LANES;
    uint32_t *weights = (uint32_t *)packed + vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group, packed += group * LANES) {
        group = gemm_group(vectors - v);
        gemm_pack_group(&f->shape, of, group, v * LANES, packed, weights);
        weights += (int64_t)group * LANES * f->shape.runs * f->shape.steps;
    }
}

static int32_t sums_of(const s_wide_layer *l) {
    int32_t sums = SUMS_32;
    for (int64_t o = 0; o < l->image.out_c; o++) {
        const stage_channel c = wide_channel(l, o);
        const int lane = l->narrow && qn_path(l->last.profile) == QN_PATH_MVE &&
                         qn_rounding(l->last.profile) == QN_SINGLE && c.shift >= 0;
        if (lane || (!l->narrow && wide_head_wraps(l, o))) {
            return SUMS_PLAIN;
        }
        sums = !l->narrow && c.most > INT32_MAX ? SUMS_64 : sums;
    }
    return sums;
}

static void wide_pack(const s_wide_layer *l, int32_t *packed) {
    filters f = {l, shape_of(&l->image), 0, 0};
    const gemm_filters of = {&f, gemm_start_of, gemm_weights_of};
    memset(packed, 0, HEAD * sizeof(int32_t));
    packed[0] = sums_of(l);
    f.with_bias = packed[0] == SUMS_32;
    const int unfolded = packed[0] == SUMS_64;
    packed += HEAD;
    for (int32_t g = 0; g < l->image.group; g++, f.first += f.shape.channels) {
        pack_wide_stage(l, f.first, f.shape.channels, packed);
        if (unfolded) {
            pack_unfolded(&f, &of, packed + stage_dwords(f.shape.channels));
        } else {
            gemm_pack(&f.shape, &of, packed + stage_dwords(f.shape.channels));
        }
        packed += group_dwords(&f.shape);
    }
}

#endif
