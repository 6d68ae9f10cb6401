/* Depthwise convolution on vectors of int32 lanes, for any instruction set.
 *
 * Lane x * pitch + c stands for channel c of pixel x. For each row of outputs the ROWS image rows
 * under a group of kernel rows become one strip of dwords: lane by lane the ROWS values that lie
 * below each other, zeros beside the image. One instruction then multiplies a vector of lanes with
 * ROWS taps each, and a tap to the right is `pitch` lanes further on. As many as LANES / ch_im_in
 * pixels share a vector where the channels are few and stride_x is 1.
 *
 * Included once by each file of an instruction set, after
 *   vec, LANES                   a vector and the number of its int32 lanes
 *   value, ROWS, OFFSET          a dword holds ROWS values; the strip holds them plus OFFSET
 *   load(lanes)                  LANES dwords from anywhere
 *   dot(acc, values, weights)    acc + the sum of the ROWS products of each lane, modulo 2^32
 *   interleave(rows, at, count, lanes)   count lanes from rows[ROWS] at `at`; a NULL row is zeros;
 *                                up to SLACK lanes behind them become zeros too
 *   stage, stage_of(p), put(stage, acc, out, count)   shifts, saturates, stores `count` q7 */
#ifndef QN_Q_DEPTHWISE_FAST_H
#define QN_Q_DEPTHWISE_FAST_H

#include <string.h>

#include "depthwise.h"

enum { SLACK = 64, MOST_BYTES = 1 << 24 };

static inline int32_t round_up(int32_t number, int32_t step) {
    return (number + step - 1) / step * step;
}

/* Lanes from pixel to pixel. */
static inline int32_t pitch_of(const qn_conv *p) {
    int shared = p->stride_x == 1 && LANES % p->ch_im_in == 0;
    return shared ? p->ch_im_in : round_up(p->ch_im_in, LANES);
}

/* Vectors after which the weights repeat. */
static inline int32_t blocks_of(const qn_conv *p) { return round_up(pitch_of(p), LANES) / LANES; }

static inline int32_t groups_of(const qn_conv *p) { return round_up(p->dim_kernel_y, ROWS) / ROWS; }

static inline int64_t columns_of(const qn_conv *p) {
    return (int64_t)(p->dim_im_out_x - 1) * p->stride_x + p->dim_kernel_x;
}

/* Below (2^30 + 2^16) * 2^17. */
static inline int64_t strip_lanes(const qn_conv *p) { return columns_of(p) * pitch_of(p) + SLACK; }

static inline int64_t strips_bytes(const qn_conv *p) {
    int64_t lanes = strip_lanes(p);
    if (lanes > MOST_BYTES || groups_of(p) * lanes * 4 > MOST_BYTES) {
        return QN_NOT_TAKEN;
    }
    return groups_of(p) * lanes * 4;
}

/* start[block][lane], then weights[block][group][kx][lane]. */
static inline int64_t packed_bytes(const qn_conv *p) {
    return (1 + (int64_t)groups_of(p) * p->dim_kernel_x) * blocks_of(p) * LANES * 4;
}

/* The weight of a channel at a tap; 0 behind the last channel and below the kernel. */
static inline value weight_at(const qn_conv *p, const int8_t *weights, int32_t ky, int32_t kx,
                              int32_t c) {
    int inside = c < p->ch_im_in && ky < p->dim_kernel_y;
    return inside ? weights[(ky * p->dim_kernel_x + kx) * p->ch_im_in + c] : 0;
}

static void pack_lane(const qn_conv *p, const int8_t *weights, const int8_t *bias, int32_t lane,
                      uint32_t *start, value *packed) {
    int32_t c = lane % pitch_of(p);
    uint32_t sum = 0;
    for (int32_t g = 0; g < groups_of(p); g++) {
        for (int32_t kx = 0; kx < p->dim_kernel_x; kx++, packed += LANES * ROWS) {
            for (int32_t r = 0; r < ROWS; r++) {
                value weight = weight_at(p, weights, g * ROWS + r, kx, c);
                int32_t term = weight;
                packed[r] = weight;
                sum += (uint32_t)term;
            }
        }
    }
    int32_t round_term = qn_round_term(p->profile, p->out_shift);
    *start = qn_acc_start(c < p->ch_im_in ? bias[c] : 0, p->bias_shift, round_term) - OFFSET * sum;
}

static void pack_all(const qn_conv *p, const int8_t *weights, const int8_t *bias, void *packed) {
    int32_t lanes = blocks_of(p) * LANES;
    int64_t block = (int64_t)groups_of(p) * p->dim_kernel_x * LANES * ROWS;
    uint32_t *start = packed;
    value *taps = (value *)(start + lanes);
    for (int32_t lane = 0; lane < lanes; lane++) {
        pack_lane(p, weights, bias, lane, start + lane,
                  taps + lane / LANES * block + lane % LANES * ROWS);
    }
}

/* The strips for one row of outputs. Their edges were filled with zeros beforehand. */
static void make_strips(const qn_conv *p, const int8_t *in, int32_t out_y, int32_t *strips) {
    int32_t pitch = pitch_of(p), channels = p->ch_im_in;
    int64_t room = columns_of(p) - p->padding_x;
    if (room <= 0) {
        return; /* every window lies left of the image */
    }
    int32_t visible = room < p->dim_im_in_x ? (int32_t)room : p->dim_im_in_x;
    for (int32_t g = 0; g < groups_of(p); g++) {
        int32_t *lanes = strips + g * strip_lanes(p) + (int64_t)p->padding_x * pitch;
        const int8_t *rows[ROWS];
        for (int32_t r = 0; r < ROWS; r++) {
            int32_t ky = g * ROWS + r, y = out_y * p->stride_y - p->padding_y + ky;
            int inside = ky < p->dim_kernel_y && y >= 0 && y < p->dim_im_in_y;
            rows[r] = inside ? in + y * p->dim_im_in_x * channels : NULL;
        }
        if (pitch == channels) {
            interleave(rows, 0, visible * channels, lanes);
            continue;
        }
        for (int32_t x = 0; x < visible; x++) {
            interleave(rows, x * channels, channels, lanes + x * pitch);
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
        vec acc = load(start);
        for (int g = 0; g < groups; g++) {
            for (int kx = 0; kx < kernel_x; kx++) {
                vec values = load(strips + g * w->group_step + kx * w->tap_step);
                acc = dot(acc, values, load(weights + (g * kernel_x + kx) * LANES));
            }
        }
        put(last, acc, out, n + 1 < w->count ? w->full : w->last);
    }
}

/* The same for three by three taps, whose weights stay in registers. */
enum { GROUPS_OF_3 = (3 + ROWS - 1) / ROWS };

static void along_3x3(const walk *w, const int32_t *strips, const int32_t *start,
                      const int32_t *weights, const stage *last, int8_t *out) {
    vec first = load(start), held[GROUPS_OF_3][3];
    for (int g = 0; g < GROUPS_OF_3; g++) {
        for (int kx = 0; kx < 3; kx++) {
            held[g][kx] = load(weights + (g * 3 + kx) * LANES);
        }
    }
    const stage own = *last;
    const walk path = *w;
    for (int32_t n = 0; n < path.count; n++, strips += path.in_step, out += path.out_step) {
        vec acc = first;
        for (int g = 0; g < GROUPS_OF_3; g++) {
            const int32_t *lanes = strips + g * path.group_step;
            acc = dot(acc, load(lanes), held[g][0]);
            acc = dot(acc, load(lanes + path.tap_step), held[g][1]);
            acc = dot(acc, load(lanes + 2 * path.tap_step), held[g][2]);
        }
        put(&own, acc, out, n + 1 < path.count ? path.full : path.last);
    }
}

static int run_depthwise(const qn_conv *p, const qn_buffers *b) {
    int32_t pitch = pitch_of(p), groups = groups_of(p), kernel_x = p->dim_kernel_x;
    int32_t blocks = blocks_of(p), row = p->dim_im_out_x * p->ch_im_out;
    stage last = stage_of(p);
    walk w = {.count = p->dim_im_out_x,
              .in_step = (int64_t)pitch * p->stride_x,
              .out_step = p->ch_im_out,
              .tap_step = pitch,
              .group_step = strip_lanes(p)};
    if (pitch < LANES) { /* whole pixels fill a vector */
        w.count = round_up(row, LANES) / LANES;
        w.in_step = w.out_step = LANES;
    }
    memset(b->scratch, OFFSET, (size_t)strips_bytes(p));
    for (int32_t y = 0; y < p->dim_im_out_y; y++) {
        int8_t *out = (int8_t *)b->out + y * row;
        make_strips(p, b->in[0], y, b->scratch);
        for (int32_t block = 0; block < blocks; block++) {
            const int32_t *strips = (const int32_t *)b->scratch + block * LANES;
            const int32_t *start = (const int32_t *)b->packed + block * LANES;
            const int32_t *weights =
                (const int32_t *)b->packed + (blocks + (int64_t)block * groups * kernel_x) * LANES;
            int32_t left =
                pitch < LANES ? row - (w.count - 1) * LANES : p->ch_im_out - block * LANES;
            w.last = left < LANES ? left : LANES;
            w.full = pitch < LANES ? LANES : w.last;
            if (kernel_x == 3 && groups == GROUPS_OF_3) {
                along_3x3(&w, strips, start, weights, &last, out + block * LANES);
            } else {
                along(&w, groups, kernel_x, strips, start, weights, &last, out + block * LANES);
            }
        }
    }
    return QN_OK;
}

#endif
