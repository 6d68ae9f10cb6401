/* Sums of 64 bits: those of the engine in 32 bits, added up after every 510 products, which stay
 * below 510 * 2^22 < 2^31. Included by wide_fast.h. */
#ifndef QN_S_WIDE_TILE_H
#define QN_S_WIDE_TILE_H

enum { MOST_STEPS = 255, WIDE_PIXELS = 4 };

/* A group of channels: how sums are computed, what is packed, its output and first channel. */
typedef struct wide_spot {
    int32_t sums;
    const int32_t *packed;
    int16_t *out;
    int64_t first;
} wide_spot;

/* totals[pixel][vector][lane] */
typedef int64_t wide_totals[WIDE_PIXELS][4 * 16];

QN_INLINE void add_up(const int pixels, const int vectors, vec acc[16][4], wide_totals totals) {
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        QN_UNROLL
        for (int v = 0; v < vectors; v++) {
            int32_t lanes[LANES];
            memcpy(lanes, &acc[p][v], sizeof lanes);
            memset(&acc[p][v], 0, sizeof(vec));
            for (int i = 0; i < LANES; i++) {
                totals[p][v * LANES + i] += lanes[i];
            }
        }
    }
}

QN_INLINE void wide_tile(const int pixels, const int vectors, const gemm_shape *shape,
                         const uint8_t *image, const int32_t *weights, wide_totals totals) {
    vec acc[16][4];
    memset(acc, 0, sizeof acc);
    int32_t held = 0; /* steps */
    for (int32_t r = 0; r < shape->runs; r++, image += shape->run_step) {
        for (int32_t k = 0; k < shape->steps; k++, weights += vectors * LANES) {
            QN_UNROLL
            for (int p = 0; p < pixels; p++) {
                const vec values = vec_broadcast(image + p * shape->column_step + 4 * k);
                QN_UNROLL
                for (int v = 0; v < vectors; v++) {
                    acc[p][v] = vec_dot(acc[p][v], values, vec_load(weights + v * LANES));
                }
            }
            if (++held == MOST_STEPS) {
                add_up(pixels, vectors, acc, totals);
                held = 0;
            }
        }
    }
    add_up(pixels, vectors, acc, totals);
}

QN_INLINE void wide_columns(const int pixels, int group, const gemm_shape *shape,
                            const uint8_t *image, const int32_t *weights, wide_totals totals) {
    if (group == 1) {
        wide_tile(pixels, 1, shape, image, weights, totals);
    } else if (group == 2) {
        wide_tile(pixels, 2, shape, image, weights, totals);
    } else {
        wide_tile(pixels, MOST_VECTORS, shape, image, weights, totals);
    }
}

/* Channels from vector v on, of one pixel; alone: the last of an odd number. */
static void wide_finish(const s_wide_layer *l, const wide_spot *at, int64_t v, int group,
                        const gemm_shape *shape, const int64_t *totals, int alone, int16_t *out) {
    for (int i = 0; i < group * LANES; i++) {
        const int64_t o = v * LANES + gemm_channel(group, i / LANES, i % LANES);
        if (o < shape->channels) {
            const int64_t c = at->first + o, sum = alone ? s_low(totals[i]) : totals[i];
            const int32_t multiplier = l->q.multiplier ? s_low(l->q.multiplier[c]) : l->multiplier;
            const int32_t shift = l->q.shift ? s_low(l->q.shift[c]) : l->shift;
            out[o] = (int16_t)s_output64(&l->last, qn_add64(sum, l->q.bias[c]), multiplier, shift);
        }
    }
}

/* One group of vectors at `pixels` pixels of a row. */
static void wide_group(const s_wide_layer *l, const wide_spot *at, int64_t v,
                       const gemm_shape *shape, const int32_t *weights, const uint8_t *image,
                       int64_t at_pixel, int32_t pixels) {
    const int group = gemm_group((shape->channels + LANES - 1) / LANES - v);
    const int64_t all = (int64_t)shape->rows * shape->columns;
    wide_totals totals;
    memset(totals, 0, sizeof totals);
    if (pixels == WIDE_PIXELS) {
        wide_columns(WIDE_PIXELS, group, shape, image, weights, totals);
    } else {
        wide_columns(1, group, shape, image, weights, totals);
    }
    for (int32_t p = 0; p < pixels; p++, at_pixel++) {
        const int alone = l->in_pairs && all % 2 && at_pixel == all - 1;
        wide_finish(l, at, v, group, shape, totals[p], alone, at->out + at_pixel * shape->pitch);
    }
}

static void wide_run(const s_wide_layer *l, const wide_spot *at, const gemm_shape *shape,
                     const uint8_t *image) {
    const int64_t vectors = (shape->channels + LANES - 1) / LANES;
    const int64_t step = LANES * (int64_t)shape->runs * shape->steps;
    const int32_t *weights = at->packed + stage_dwords(shape->channels) + vectors * LANES;
    for (int32_t y = 0; y < shape->rows; y++) {
        int32_t size;
        for (int32_t x = 0; x < shape->columns; x += size) {
            size = shape->columns - x < WIDE_PIXELS ? 1 : WIDE_PIXELS;
            const uint8_t *from = image + y * shape->row_step + x * shape->column_step;
            for (int64_t v = 0; v < vectors; v += gemm_group(vectors - v)) {
                wide_group(l, at, v, shape, weights + v * step, from,
                           (int64_t)y * shape->columns + x, size);
            }
        }
    }
}

#endif
