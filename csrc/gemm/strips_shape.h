/* The geometry of strips, and their weights as they are packed. Included by strips.h. */
#ifndef QN_GEMM_STRIPS_SHAPE_H
#define QN_GEMM_STRIPS_SHAPE_H

#include <stdint.h>

#include "order.h"

enum { PANEL = 4 * LANES, STRIP_SLACK = 64, MOST_STRIP_BYTES = 1 << 24 };

/* A geometry, channels last; an output pixel has as many channels as one of the image. */
typedef struct strips_shape {
    int32_t in_h, in_w, channels, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_n, pad_w, dilation_h, dilation_w;
    int32_t edge; /* what lies beside the image */
} strips_shape;

static inline int32_t round_up(int32_t number, int32_t step) {
    return (number + step - 1) / step * step;
}

/* Lanes from pixel to pixel. */
static inline int32_t pitch_of(const strips_shape *p) {
    int shared = p->stride_w == 1 && LANES % p->channels == 0;
    return shared ? p->channels : p->channels > PANEL ? PANEL : round_up(p->channels, LANES);
}

/* Vectors after which the weights repeat. */
static inline int32_t blocks_of(const strips_shape *p) {
    return round_up(p->channels, LANES) / LANES;
}

/* The channel of a lane: two vectors side by side have the order of the engine's. */
static inline int32_t strip_channel(const strips_shape *p, int32_t lane) {
    const int32_t first = lane / (2 * LANES) * 2 * LANES;
    if (pitch_of(p) < LANES) {
        return lane % p->channels;
    }
    const int group = blocks_of(p) * LANES - first >= 2 * LANES ? 2 : 1;
    return first + gemm_channel(group, (lane - first) / LANES, lane % LANES);
}

static inline int32_t groups_of(const strips_shape *p) {
    return round_up(p->kernel_h, ROWS) / ROWS;
}

/* Rows of outputs that come from the same strips. */
static inline int32_t rows_at_once(const strips_shape *p) {
    return p->kernel_h % ROWS != 0 && p->stride_h == 1 && p->dilation_h == 1 ? 2 : 1;
}

static inline int64_t columns_of(const strips_shape *p) {
    return (int64_t)(p->out_w - 1) * p->stride_w + (int64_t)(p->kernel_w - 1) * p->dilation_w + 1;
}

/* Below 2^33 * 2^7. */
static inline int64_t strip_lanes(const strips_shape *p) {
    return columns_of(p) * pitch_of(p) + STRIP_SLACK;
}

/* Scratch bytes; -1: more than the caches hold, so another way must be better. */
static inline int64_t strips_bytes(const strips_shape *p) {
    int64_t lanes = strip_lanes(p);
    if (lanes > MOST_STRIP_BYTES || groups_of(p) * lanes * 4 > MOST_STRIP_BYTES) {
        return -1;
    }
    return groups_of(p) * lanes * 4;
}

/* start[block][lane], then for each of the rows at once weights[block][group][kx][lane]. */
static inline int64_t strip_weights(const strips_shape *p) {
    return (int64_t)groups_of(p) * p->kernel_w * LANES; /* dwords of one block */
}
static inline int64_t strips_packed_bytes(const strips_shape *p) {
    return (LANES + rows_at_once(p) * strip_weights(p)) * blocks_of(p) * 4;
}

/* The caller's filters, by channel and tap; start() leaves room for OFFSET * sum of weights. */
typedef struct strips_filters {
    const void *context;
    int32_t (*start)(const void *context, int64_t channel);
    int32_t (*weight)(const void *context, int64_t channel, int64_t ky, int64_t kx);
} strips_filters;

/* The weights of one lane, `down` rows further down; returns their sum. */
static uint32_t pack_lane(const strips_shape *p, const strips_filters *of, int32_t c, int32_t down,
                          value *packed) {
    uint32_t sum = 0;
    for (int32_t g = 0; g < groups_of(p); g++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++, packed += LANES * ROWS) {
            for (int32_t r = 0; r < ROWS; r++) {
                int32_t ky = g * ROWS + r - down;
                int inside = c < p->channels && ky >= 0 && ky < p->kernel_h;
                int32_t term = inside ? of->weight(of->context, c, ky, kx) : 0;
                packed[r] = (value)term;
                sum += (uint32_t)term;
            }
        }
    }
    return sum;
}

static void strips_pack(const strips_shape *p, const strips_filters *of, void *packed) {
    const int32_t lanes = blocks_of(p) * LANES;
    const int64_t block = strip_weights(p) * ROWS;
    uint32_t *start = packed;
    value *taps = (value *)(start + lanes);
    for (int32_t down = 0; down < rows_at_once(p); down++, taps += blocks_of(p) * block) {
        for (int32_t lane = 0; lane < lanes; lane++) {
            const int32_t c = strip_channel(p, lane);
            uint32_t sum =
                pack_lane(p, of, c, down, taps + lane / LANES * block + lane % LANES * ROWS);
            start[lane] =
                (c < p->channels ? (uint32_t)of->start(of->context, c) : 0) - OFFSET * sum;
        }
    }
}

#endif
