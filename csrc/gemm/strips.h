/* Depthwise convolution on vectors of int32 lanes, for any instruction set and output stage.
 *
 *   acc(y, x, c) = start[c] + sum over ky, kx of in(y', x', c) * weight(ky, kx, c)      modulo 2^32
 *
 * Lane x * pitch + c stands for channel c of pixel x, of up to PANEL channels at a time. For each row
 * of outputs the ROWS image rows under a group of kernel rows become one strip of dwords: lane by
 * lane the ROWS values that lie below each other. One instruction then multiplies a vector of lanes
 * with ROWS taps each, and a tap to the right is `pitch` lanes further on. As many as LANES /
 * channels pixels share a vector where the channels are few and stride_w is 1. Where the groups have
 * room for a row more, the next row of outputs comes from the same strips, with weights packed one
 * row further down.
 *
 * Included once by each file of an instruction set, after
 *   vec, LANES                   a vector and the number of its int32 lanes
 *   value, ROWS, OFFSET          a dword holds ROWS values; the strip holds them plus OFFSET
 *   vec_load(lanes)              LANES dwords from anywhere
 *   dot(acc, values, weights)    acc + the sum of the ROWS products of each lane, modulo 2^32
 *   interleave(rows, at, count, edge, group, lanes)   count lanes from rows[ROWS] at `at`, in the
 *                                order of `group` vectors side by side (gemm_channel()); a NULL row
 *                                is `edge` throughout; up to STRIP_SLACK lanes behind them become
 *                                that, too
 *   stage, stage_put()           the arithmetic's last step, as in tile.h
 *   STAGE_FROM(last, v)          the last step of lanes from vector v on, where channels differ */
#ifndef QN_GEMM_STRIPS_H
#define QN_GEMM_STRIPS_H

#include <stdint.h>
#include <string.h>

#include "strips_shape.h"
#include "unroll.h"

#ifndef STAGE_FROM
#define STAGE_FROM(last, v) (*(last))
#endif

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

/* `pixels` pixels of one strip, from channel `first` on. */
static void make_strip(const strips_shape *p, const int8_t *const rows[ROWS], int32_t first,
                       int32_t pixels, int32_t *lanes) {
    const int32_t pitch = pitch_of(p), left = p->channels - first;
    const int32_t count = left < PANEL ? left : PANEL;
    const int32_t vectors = round_up(count, LANES) / LANES;
    if (pitch == p->channels && (vectors == 1 || vectors % 2 == 0)) {
        interleave(rows, 0, pixels * count, p->edge, vectors == 1 ? 1 : 2, lanes);
        return;
    }
    const int32_t pairs = vectors / 2 * 2 * LANES, paired = pairs < count ? pairs : count;
    for (int32_t x = 0; x < pixels; x++, lanes += pitch) {
        const int64_t at = (int64_t)x * p->channels + first;
        if (paired > 0) {
            interleave(rows, at, paired, p->edge, 2, lanes);
        }
        if (count > paired) {
            interleave(rows, at + paired, count - paired, p->edge, 1, lanes + pairs);
        }
    }
}

/* The strips of a panel of channels for rows of outputs from `out_y` on. Their edges were cleared
 * beforehand. */
static void make_strips(const strips_shape *p, const int8_t *in, int32_t out_y, int32_t first,
                        int32_t *strips) {
    const int32_t under = p->kernel_h + rows_at_once(p) - 1;
    int64_t room = columns_of(p) - p->pad_w;
    if (room <= 0) {
        return; /* every window lies left of the image */
    }
    int32_t visible = room < p->in_w ? (int32_t)room : p->in_w;
    for (int32_t g = 0; g < groups_of(p); g++) {
        const int8_t *rows[ROWS];
        for (int32_t r = 0; r < ROWS; r++) {
            int32_t ky = g * ROWS + r;
            int64_t y = (int64_t)out_y * p->stride_h - p->pad_n + (int64_t)ky * p->dilation_h;
            int inside = ky < under && y >= 0 && y < p->in_h;
            rows[r] = inside ? in + y * p->in_w * p->channels : NULL;
        }
        make_strip(p, rows, first, visible,
                   strips + g * strip_lanes(p) + (int64_t)p->pad_w * pitch_of(p));
    }
}

#include "strips_row.h"

static walk walk_of(const strips_shape *p) {
    const int32_t pitch = pitch_of(p), row = p->out_w * p->channels;
    walk w = {
        .count = p->out_w,
        .in_step = 4 * (int64_t)pitch * p->stride_w,
        .tap_step = 4 * (int64_t)pitch * p->dilation_w,
        .group_step = 4 * strip_lanes(p),
        .out_step = p->channels,
        .groups = groups_of(p),
        .kernel_x = p->kernel_w,
    };
    if (pitch < LANES) { /* whole pixels fill a vector */
        w.count = round_up(row, LANES) / LANES;
        w.in_step = 4 * LANES;
        w.out_step = LANES;
        w.stored = row < LANES ? row : LANES;
        w.behind = row < LANES ? 0 : w.count * LANES - row;
    }
    return w;
}

/* One row of outputs of a panel: `weights` those of block 0. */
static void panel_row(const strips_shape *p, walk w, int32_t first, const int32_t *strips,
                      const int32_t *start, const int32_t *weights, int8_t *out,
                      const stage *last) {
    const int32_t end = first + PANEL < p->channels ? first + PANEL : p->channels;
    for (int32_t c = first; c < end; c += 2 * LANES) {
        const int32_t block = c / LANES, left = end - c;
        const stage here = STAGE_FROM(last, block);
        const char *lanes = (const char *)(strips + c - first);
        w.start = start + c;
        w.weights = weights + block * strip_weights(p);
        if (pitch_of(p) >= LANES) {
            w.stored = left < 2 * LANES ? left : 2 * LANES;
        }
        if (left > LANES) {
            strip_row_2(&w, lanes, out + c, &here);
        } else {
            strip_row_1(&w, lanes, out + c, &here);
        }
    }
}

static void strips_run(const strips_shape *p, const int8_t *in, int32_t *strips,
                       const int32_t *packed, int8_t *out, const stage *last) {
    const int32_t rows = rows_at_once(p);
    const int64_t set = blocks_of(p) * strip_weights(p);
    const int32_t *weights = packed + blocks_of(p) * LANES;
    const walk w = walk_of(p);
    clear_strips(p, strips);
    for (int32_t y = 0; y < p->out_h; y++) {
        int8_t *to = out + (int64_t)y * p->out_w * p->channels;
        for (int32_t first = 0; first < p->channels; first += PANEL) {
            make_strips(p, in, y, first, strips);
            panel_row(p, w, first, strips, packed, weights, to, last);
            if (rows == 2 && y + 1 < p->out_h) {
                panel_row(p, w, first, strips, packed, weights + set,
                          to + (int64_t)p->out_w * p->channels, last);
            }
        }
        y += rows - 1;
    }
}

#endif
