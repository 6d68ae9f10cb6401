/* Depthwise convolutions of the s16 API whose channels stand for themselves: a block of two vectors
 * of channels at a time, taps in pairs, a halfword each of a dword. Included after wide_fast.h and
 *   vec_low_pairs(a, b), vec_high_pairs(a, b)   halfwords of a and b in turns, such that a saturating
 *                                               pack of both leaves the channels in order
 *
 * Sums that may leave 32 bits, with their bias, are left to the plain row. Packed are 64 bytes with
 * that, then for each block: start, pairs of weights, the stage's rows. */
#ifndef QN_S_DEPTHWISE_S16_FAST_H
#define QN_S_DEPTHWISE_S16_FAST_H

enum { BLOCK = 2 * LANES, EACH_PIXELS = 4, EACH_TAPS = 511 };

/* The image padded as a whole; bytes from a pixel to each tap of its window. */
typedef struct each_alone {
    image_shape image;
    gemm_shape shape;
    int32_t pairs;
    int64_t taps[EACH_TAPS + 1];
} each_alone;

static int goes_alone(const s_wide_layer *l) {
    return l->image.group == l->image.out_c && image_taps(&l->image) <= EACH_TAPS;
}

static void each_of(const s_wide_layer *l, each_alone *e) {
    const int32_t taps = (int32_t)image_taps(&l->image);
    e->image = l->image;
    e->image.depth = l->image.group;
    e->image.group = 1;
    e->pairs = (taps + 1) / 2;
    const int64_t pixel_bytes = e->image.depth * (int64_t)sizeof(pixel);
    const int64_t row_bytes = width_of(&e->image) * pixel_bytes;
    for (int32_t i = 0; i < 2 * e->pairs; i++) {
        const int32_t tap = i < taps ? i : 0; /* its weight is 0 */
        e->taps[i] = tap / e->image.kernel_w * e->image.dilation_h * row_bytes +
                     tap % e->image.kernel_w * pixel_bytes;
    }
    e->shape = (gemm_shape){
        .row_step = e->image.stride_h * row_bytes,
        .column_step =
            (e->image.dilation_w > 1 ? e->image.kernel_w : e->image.stride_w) * pixel_bytes,
        .pitch = e->image.out_c,
    };
}

static int64_t block_dwords(const each_alone *e) {
    return BLOCK * (1 + (int64_t)e->pairs + STAGE_ROWS);
}

static int64_t each_packed(const s_wide_layer *l) {
    each_alone e;
    each_of(l, &e);
    return (HEAD + (l->image.out_c + BLOCK - 1) / BLOCK * block_dwords(&e)) * 4;
}

static int64_t each_scratch(const s_wide_layer *l) {
    each_alone e;
    each_of(l, &e);
    return with_repeated(&l->image, l->repeat, image_bytes(&e.image));
}

/* Weights of taps 2 * pair and 2 * pair + 1. */
static int32_t pair_of(const s_wide_layer *l, int64_t o, int64_t pair) {
    int16_t two[2] = {0};
    for (int64_t i = 0; i < 2 && 2 * pair + i < image_taps(&l->image); i++) {
        two[i] = l->weights[o * l->channel_step + (2 * pair + i) * l->tap_step];
    }
    int32_t dword;
    memcpy(&dword, two, sizeof dword);
    return dword;
}

static void each_pack(const s_wide_layer *l, int32_t *packed) {
    each_alone e;
    each_of(l, &e);
    memset(packed, 0, HEAD * sizeof(int32_t));
    packed[0] = sums_of(l) == SUMS_32 ? SUMS_32 : SUMS_PLAIN;
    packed += HEAD;
    for (int64_t first = 0; first < l->image.out_c; first += BLOCK, packed += block_dwords(&e)) {
        int32_t *rows = packed + BLOCK * (1 + (int64_t)e.pairs);
        for (int i = 0; i < BLOCK; i++) {
            const int64_t own = first + gemm_channel(2, i / LANES, i % LANES);
            const int64_t o = own < l->image.out_c ? own : 0;
            const stage_channel c = wide_channel(l, o);
            packed[i] = s_low(l->q.bias[o]);
            for (int64_t pair = 0; pair < e.pairs; pair++) {
                packed[BLOCK * (1 + pair) + i] = pair_of(l, o, pair);
            }
            pack_wide_lane(l, &c, rows + i / LANES * STAGE_ROWS * LANES, i % LANES);
        }
    }
}

QN_INLINE void each_tile(const int pixels, const each_alone *e, const char *image,
                         const int32_t *packed, int16_t *out, int count, const stage *last) {
    vec acc[16][4];
    QN_EACH(pixels, 2, acc[p][v] = vec_load(packed + v * LANES));
    for (int32_t pair = 0; pair < e->pairs; pair++) {
        const int32_t *weights = packed + BLOCK * (1 + pair);
        const vec low = vec_load(weights), high = vec_load(weights + LANES);
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            const char *at = image + p * e->shape.column_step;
            const vec a = vec_load((const void *)(at + e->taps[2 * pair]));
            const vec b = vec_load((const void *)(at + e->taps[2 * pair + 1]));
            acc[p][0] = vec_dot(acc[p][0], vec_low_pairs(a, b), low);
            acc[p][1] = vec_dot(acc[p][1], vec_high_pairs(a, b), high);
        }
    }
    stage_put(last, out, e->shape.pitch, count, pixels, 2, acc);
}

static void each_row(const s_wide_layer *l, const each_alone *e, const char *image,
                     const int32_t *packed, int16_t *out) {
    for (int64_t first = 0; first < l->image.out_c; first += BLOCK, packed += block_dwords(e)) {
        const stage last = stage_of(&l->last, 0, packed + BLOCK * (1 + (int64_t)e->pairs));
        const int64_t left = l->image.out_c - first;
        const int count = (int)(left < BLOCK ? left : BLOCK);
        int32_t size;
        for (int32_t x = 0; x < l->image.out_w; x += size) {
            const char *at = image + first * (int64_t)sizeof(pixel) + x * e->shape.column_step;
            int16_t *to = out + first + x * e->shape.pitch;
            size = l->image.out_w - x < EACH_PIXELS ? 1 : EACH_PIXELS;
            if (size == EACH_PIXELS) {
                each_tile(EACH_PIXELS, e, at, packed, to, count, &last);
            } else {
                each_tile(1, e, at, packed, to, count, &last);
            }
        }
    }
}

static int each_run(const s_wide_layer *l, const qn_buffers *b) {
    each_alone e;
    each_of(l, &e);
    const input *in = b->in[0];
    int16_t *out = b->out;
    char *scratch = (char *)b->scratch + repeated_bytes(&l->image, l->repeat);
    for (int32_t n = 0; n < l->batches; n++) {
        pad_image(&e.image, repeated(&l->image, l->repeat, in, b->scratch),
                  (pixel *)(void *)scratch);
        for (int32_t y = 0; y < e.image.out_h; y++, out += e.image.out_w * e.shape.pitch) {
            each_row(l, &e, scratch + y * e.shape.row_step, (const int32_t *)b->packed + HEAD, out);
        }
        in += (int64_t)e.image.in_h * e.image.in_w * e.image.depth / l->repeat;
    }
    return QN_OK;
}

#endif
