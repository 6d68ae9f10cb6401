/* Depthwise convolution on vectors of int32 lanes, for any instruction set and output stage.
 *
 *   acc(y, x, c) = start[c] + sum over ky, kx of in(y', x', c) * weight(ky, kx, c)      modulo 2^32
 *
 * Lane x * pitch + c stands for channel c of pixel x. For each row of outputs the ROWS image rows
 * under a group of kernel rows become one strip of dwords: lane by lane the ROWS values that lie
 * below each other, zeros beside the image. One instruction then multiplies a vector of lanes with
 * ROWS taps each, and a tap to the right is `pitch` lanes further on. As many as LANES / channels
 * pixels share a vector where the channels are few and stride_w is 1.
 *
 * Included once by each file of an instruction set, after
 *   vec, LANES                   a vector and the number of its int32 lanes
 *   value, ROWS, OFFSET          a dword holds ROWS values; the strip holds them plus OFFSET
 *   vec_load(lanes)              LANES dwords from anywhere
 *   dot(acc, values, weights)    acc + the sum of the ROWS products of each lane, modulo 2^32
 *   interleave(rows, at, count, edge, lanes)   count lanes from rows[ROWS] at `at`; a NULL row is
 *                                `edge` throughout; up to STRIP_SLACK lanes behind them become
 *                                that, too
 *   stage, put(stage, acc, out, count)   the arithmetic's last step: stores `count` bytes
 *   STAGE_FROM(last, v)          the last step of lanes from vector v on, where channels differ */
#ifndef QN_GEMM_STRIPS_H
#define QN_GEMM_STRIPS_H

#include <stdint.h>
#include <string.h>

#ifndef STAGE_FROM
#define STAGE_FROM(last, v) (*(last))
#endif

enum { STRIP_SLACK = 64, MOST_STRIP_BYTES = 1 << 24 };

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
    return shared ? p->channels : round_up(p->channels, LANES);
}

/* Vectors after which the weights repeat. */
static inline int32_t blocks_of(const strips_shape *p) {
    return round_up(pitch_of(p), LANES) / LANES;
}

static inline int32_t groups_of(const strips_shape *p) {
    return round_up(p->kernel_h, ROWS) / ROWS;
}

static inline int64_t columns_of(const strips_shape *p) {
    return (int64_t)(p->out_w - 1) * p->stride_w + (int64_t)(p->kernel_w - 1) * p->dilation_w + 1;
}

/* Below 2^33 * 2^17. */
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

/* start[block][lane], then weights[block][group][kx][lane]. */
static inline int64_t strips_packed_bytes(const strips_shape *p) {
    return (1 + (int64_t)groups_of(p) * p->kernel_w) * blocks_of(p) * LANES * 4;
}

/* The caller's filters, by channel and tap; start() leaves room for OFFSET * sum of weights. */
typedef struct strips_filters {
    const void *context;
    int32_t (*start)(const void *context, int64_t channel);
    int32_t (*weight)(const void *context, int64_t channel, int64_t ky, int64_t kx);
} strips_filters;

static void pack_lane(const strips_shape *p, const strips_filters *of, int32_t c, uint32_t *start,
                      value *packed) {
    int inside = c < p->channels;
    uint32_t sum = 0;
    for (int32_t g = 0; g < groups_of(p); g++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++, packed += LANES * ROWS) {
            for (int32_t r = 0; r < ROWS; r++) {
                int32_t ky = g * ROWS + r;
                int32_t term = inside && ky < p->kernel_h ? of->weight(of->context, c, ky, kx) : 0;
                packed[r] = (value)term;
                sum += (uint32_t)term;
            }
        }
    }
    *start = (inside ? (uint32_t)of->start(of->context, c) : 0) - OFFSET * sum;
}

static void strips_pack(const strips_shape *p, const strips_filters *of, void *packed) {
    int32_t lanes = blocks_of(p) * LANES;
    int64_t block = (int64_t)groups_of(p) * p->kernel_w * LANES * ROWS;
    uint32_t *start = packed;
    value *taps = (value *)(start + lanes);
    for (int32_t lane = 0; lane < lanes; lane++) {
        pack_lane(p, of, lane % pitch_of(p), start + lane,
                  taps + lane / LANES * block + lane % LANES * ROWS);
    }
}

/* All of the strips as if they lay beside the image: ROWS values fill a lane. */
static void clear_strips(const strips_shape *p, int32_t *strips) {
    const int64_t lanes = strips_bytes(p) / (int64_t)sizeof(int32_t);
    value beside[ROWS];
    int32_t lane;
    for (int r = 0; r < ROWS; r++) {
        beside[r] = (value)(p->edge + OFFSET);
    }
    memcpy(&lane, beside, sizeof lane);
    for (int64_t i = 0; i < lanes; i++) {
        strips[i] = lane;
    }
}

/* The strips for one row of outputs. Their edges were cleared beforehand. */
static void make_strips(const strips_shape *p, const int8_t *in, int32_t out_y, int32_t *strips) {
    int32_t pitch = pitch_of(p), channels = p->channels;
    int64_t room = columns_of(p) - p->pad_w;
    if (room <= 0) {
        return; /* every window lies left of the image */
    }
    int32_t visible = room < p->in_w ? (int32_t)room : p->in_w;
    for (int32_t g = 0; g < groups_of(p); g++) {
        int32_t *lanes = strips + g * strip_lanes(p) + (int64_t)p->pad_w * pitch;
        const int8_t *rows[ROWS];
        for (int32_t r = 0; r < ROWS; r++) {
            int32_t ky = g * ROWS + r;
            int64_t y = (int64_t)out_y * p->stride_h - p->pad_n + (int64_t)ky * p->dilation_h;
            int inside = ky < p->kernel_h && y >= 0 && y < p->in_h;
            rows[r] = inside ? in + y * p->in_w * channels : NULL;
        }
        if (pitch == channels) {
            interleave(rows, 0, visible * channels, p->edge, lanes);
            continue;
        }
        for (int32_t x = 0; x < visible; x++) {
            interleave(rows, x * channels, channels, p->edge, lanes + x * pitch);
        }
    }
}

/* One vector of channels along a row of outputs. */
typedef struct walk {
    int32_t count, full, last; /* vectors; lanes stored of each, and of the last */
    int64_t in_step, out_step; /* lanes, bytes from vector to vector */
    int64_t tap_step, group_step;
} walk;

static void along(const walk *w, int groups, int kernel_x, const int32_t *strips,
                  const int32_t *start, const int32_t *weights, const stage *last, int8_t *out) {
    for (int32_t n = 0; n < w->count; n++, strips += w->in_step, out += w->out_step) {
        vec acc = vec_load(start);
        for (int g = 0; g < groups; g++) {
            for (int kx = 0; kx < kernel_x; kx++) {
                vec values = vec_load(strips + g * w->group_step + kx * w->tap_step);
                acc = dot(acc, values, vec_load(weights + (g * kernel_x + kx) * LANES));
            }
        }
        put(last, acc, out, n + 1 < w->count ? w->full : w->last);
    }
}

/* The same for three by three taps, whose weights stay in registers. */
enum { GROUPS_OF_3 = (3 + ROWS - 1) / ROWS };

static void along_3x3(const walk *w, const int32_t *strips, const int32_t *start,
                      const int32_t *weights, const stage *last, int8_t *out) {
    vec first = vec_load(start), held[GROUPS_OF_3][3];
    for (int g = 0; g < GROUPS_OF_3; g++) {
        for (int kx = 0; kx < 3; kx++) {
            held[g][kx] = vec_load(weights + (g * 3 + kx) * LANES);
        }
    }
    const stage own = *last;
    const walk path = *w;
    for (int32_t n = 0; n < path.count; n++, strips += path.in_step, out += path.out_step) {
        vec acc = first;
        for (int g = 0; g < GROUPS_OF_3; g++) {
            const int32_t *lanes = strips + g * path.group_step;
            acc = dot(acc, vec_load(lanes), held[g][0]);
            acc = dot(acc, vec_load(lanes + path.tap_step), held[g][1]);
            acc = dot(acc, vec_load(lanes + 2 * path.tap_step), held[g][2]);
        }
        put(&own, acc, out, n + 1 < path.count ? path.full : path.last);
    }
}

static void strips_run(const strips_shape *p, const int8_t *in, int32_t *strips,
                       const int32_t *packed, int8_t *all, const stage *last) {
    int32_t pitch = pitch_of(p), groups = groups_of(p), kernel_x = p->kernel_w;
    int32_t blocks = blocks_of(p), row = p->out_w * p->channels;
    walk w = {.count = p->out_w,
              .in_step = (int64_t)pitch * p->stride_w,
              .out_step = p->channels,
              .tap_step = (int64_t)pitch * p->dilation_w,
              .group_step = strip_lanes(p)};
    if (pitch < LANES) { /* whole pixels fill a vector */
        w.count = round_up(row, LANES) / LANES;
        w.in_step = w.out_step = LANES;
    }
    clear_strips(p, strips);
    for (int32_t y = 0; y < p->out_h; y++) {
        int8_t *out = all + (int64_t)y * row;
        make_strips(p, in, y, strips);
        for (int32_t block = 0; block < blocks; block++) {
            const stage here = STAGE_FROM(last, block);
            const int32_t *lanes = strips + block * LANES, *start = packed + block * LANES;
            const int32_t *weights = packed + (blocks + (int64_t)block * groups * kernel_x) * LANES;
            int32_t left =
                pitch < LANES ? row - (w.count - 1) * LANES : p->channels - block * LANES;
            w.last = left < LANES ? left : LANES;
            w.full = pitch < LANES ? LANES : w.last;
            if (kernel_x == 3 && groups == GROUPS_OF_3) {
                along_3x3(&w, lanes, start, weights, &here, out + block * LANES);
            } else {
                along(&w, groups, kernel_x, lanes, start, weights, &here, out + block * LANES);
            }
        }
    }
}

#endif
