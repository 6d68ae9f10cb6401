/* The order in which a weight stream lists its weights. */
#include <string.h>

#include "program.h"

/* A walk over the weights in order: counts all, and puts those that exist into their places. */
typedef struct walk {
    const eu_order *o;
    const int16_t *weights;
    int16_t *dense;
    int64_t count;
} walk;

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t round_up(int32_t x, int32_t step) { return (x + step - 1) / step * step; }

static void visit(walk *w, int exists, int32_t out, int32_t y, int32_t x, int32_t in) {
    const eu_order *o = w->o;
    if (w->weights && exists) {
        int64_t channel = o->product == EU_U85 ? out : o->core + (int64_t)out * o->cores;
        int64_t tap = (int64_t)y * o->kernel_w + x, taps = (int64_t)o->kernel_h * o->kernel_w;
        int64_t place = o->depthwise ? tap * o->out_channels + channel
                                     : (channel * taps + tap) * o->in_channels + in;
        w->dense[place] = w->weights[w->count];
    }
    w->count++;
}

/* Output channels of this stream; those of a block of the whole operation. */
static int32_t own_channels(const eu_order *o, int32_t all) {
    return (all + o->cores - 1 - o->core) / o->cores;
}

/* U55 and U65: the taps of one subkernel. */
static void walk_taps(walk *w, int32_t out0, int32_t outs, int32_t in0, int32_t ib, int32_t y0,
                      int32_t x0) {
    const eu_order *o = w->o;
    int32_t sh = least(8 / o->dilation_h, o->kernel_h - y0);
    int32_t sw = least(8 / o->dilation_w, o->kernel_w - x0);
    int32_t round = o->depthwise ? 4 : !o->part_kernel ? 1 : o->in_element == 1 ? 4 : 2;
    int32_t taps = round_up(sh * sw, round), iu = 8, ou = o->macs_log2 == 5 ? 4 : 8;
    int32_t steps = o->part_kernel ? least(ib, o->in_channels - in0) : 1;
    int32_t inner = o->part_kernel || o->depthwise ? 1 : ib, ins = o->depthwise ? 1 : iu;
    for (int32_t outer = 0; outer < steps; outer += iu) {
        for (int32_t unit = 0; unit < outs; unit += ou) {
            for (int32_t tap = 0; tap < taps; tap++) {
                for (int32_t step = 0; step < inner; step += iu) {
                    for (int32_t at = 0; at < ou * ins; at++) {
                        int32_t out = unit + at / ins, in = in0 + outer + step + at % ins;
                        int exists = tap < sh * sw && out < outs && in < o->in_channels;
                        visit(w, exists, out0 + out, y0 + tap / sw, x0 + tap % sw, in);
                    }
                }
            }
        }
    }
}

static void walk_u65(walk *w) {
    const eu_order *o = w->o;
    int32_t block = o->cores == 2 ? (o->block_depth + 1 - o->core) / 2 : o->block_depth;
    int32_t outs = own_channels(o, o->out_channels);
    int32_t ins = o->depthwise ? 1 : o->in_channels;
    int32_t ib = o->part_kernel || o->in_element == 2 ? 16 : 32;
    for (int32_t out = 0; out < outs; out += block) {
        for (int32_t in = 0; in < ins; in += ib) {
            for (int32_t y = 0; y < o->kernel_h; y += 8 / o->dilation_h) {
                for (int32_t x = 0; x < o->kernel_w; x += 8 / o->dilation_w) {
                    walk_taps(w, out, least(block, outs - out), in, ib, y, x);
                }
            }
        }
    }
}

/* Output channels of a unit of the U85, by MACs and microblock (1x1, 1x2, 1x4, 2x2, 2x4, 4x4). */
static int32_t unit_u85(int32_t macs_log2, int32_t microblock) {
    static const int8_t units[5][6] = {
        {16, 8, 0, 0, 0, 0},      /* 128 */
        {0, 16, 8, 8, 0, 0},      /* 256 */
        {16, 16, 16, 16, 16, 16}, /* 512 */
        {0, 0, 32, 32, 16, 0},    /* 1024 */
        {0, 0, 64, 64, 0, 16},    /* 2048 */
    };
    if (macs_log2 < 7 || macs_log2 > 11 || microblock > 5) {
        return 0;
    }
    return units[macs_log2 - 7][microblock];
}

static int32_t input_block_u85(const eu_order *o, int32_t unit) {
    if (o->part_kernel) {
        return 16;
    }
    if (((unit == 16 && o->macs_log2 <= 8) && !o->sparse) || o->in_element == 4) {
        return 32;
    }
    return o->sparse && o->in_element == 1 ? 128 : 64;
}

/* U85: input channels of a tap, and the multiple of taps that a subkernel is filled up to. */
static int32_t inputs_of_tap(const eu_order *o, int32_t ib) {
    return o->depthwise ? 1 : !o->part_kernel ? ib : o->in_element > 1 && !o->sparse ? 8 : 16;
}

static int32_t taps_of_round(const eu_order *o) {
    if (o->depthwise) {
        return 10;
    }
    return !o->part_kernel ? 1 : o->in_element > 1 || o->sparse ? 10 : 5;
}

/* The geometry of one step of the U85's order. */
typedef struct unit {
    int32_t out0, outs, ou, in0, iu, step, y0, x0, sh, sw, fill, gap;
} unit;

/* The weights of one tap, or of none: output channels in groups of four, cyclic over the cores. */
static void walk_tap(walk *w, const unit *u, int exists, int32_t y, int32_t x) {
    const eu_order *o = w->o;
    for (int32_t in = 0; in < u->iu; in += u->step) {
        for (int32_t group = 4 * o->core; group < u->ou; group += 4 * o->cores) {
            for (int32_t at = 0; at < 4 * u->step; at++) {
                int32_t out = group + at / u->step, i = u->in0 + in + at % u->step;
                int real = exists && out < u->outs && i < (o->depthwise ? 1 : o->in_channels);
                visit(w, real, u->out0 + out, u->y0 + y, u->x0 + x, i);
            }
        }
    }
}

static void skip(walk *w, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        visit(w, 0, 0, 0, 0, 0);
    }
}

/* The taps of one subkernel, a phase of the strides after the other. */
static void walk_phases(walk *w, const unit *u) {
    const eu_order *o = w->o;
    int phases = o->part_kernel || o->depthwise;
    int32_t sy = phases ? o->stride_h : 1, sx = phases ? o->stride_w : 1, taps = 0;
    for (int32_t py = 0; py < sy; py++) {
        for (int32_t px = 0; px < sx; px++) {
            for (int32_t y = py, row = 0; y < u->sh; y += sy, row++) {
                int32_t count = (u->sw - px + sx - 1) / sx;
                for (int32_t i = 0; i < count; i++) {
                    walk_tap(w, u, 1, y, px + sx * (row & 1 ? count - 1 - i : i));
                    if (++taps % 10 == 0) {
                        skip(w, u->gap);
                    }
                }
            }
        }
    }
    int rest = taps % u->fill;
    for (int32_t i = 0; rest && i < u->fill - rest; i++) {
        walk_tap(w, u, 0, 0, 0);
    }
    if (taps % 10) {
        skip(w, u->gap);
    }
}

static void walk_subkernels(walk *w, unit u, int32_t outs, int32_t ib) {
    const eu_order *o = w->o;
    int32_t out0 = u.out0, in0 = u.in0, left = o->depthwise ? 1 : o->in_channels - in0;
    int32_t steps = o->part_kernel ? least(ib, left) : 1;
    for (u.x0 = 0; u.x0 < o->kernel_w; u.x0 += 8 / o->dilation_w) {
        for (u.y0 = 0; u.y0 < o->kernel_h; u.y0 += 8 / o->dilation_h) {
            u.sh = least(8 / o->dilation_h, o->kernel_h - u.y0);
            u.sw = least(8 / o->dilation_w, o->kernel_w - u.x0);
            for (int32_t outer = 0; outer < steps; outer += o->part_kernel ? u.iu : 1) {
                u.in0 = in0 + outer;
                for (int32_t done = 0; done < outs; done += u.ou) {
                    u.out0 = out0 + done;
                    u.outs = outs - done;
                    walk_phases(w, &u);
                }
            }
        }
    }
}

static void walk_u85(walk *w, int32_t ou) {
    const eu_order *o = w->o;
    int32_t ib = input_block_u85(o, ou), ins = o->depthwise ? 1 : o->in_channels;
    int wide = o->in_element > 1;
    unit u = {.ou = ou, .fill = 1};
    u.step = o->depthwise ? 1 : o->sparse ? 16 : 8;
    u.iu = inputs_of_tap(o, ib);
    u.fill = taps_of_round(o);
    if (o->depthwise && (wide || o->macs_log2 > 8)) {
        u.gap = (o->macs_log2 <= 9 ? 2 : 6) * ou / o->cores;
    }
    int32_t blocks = (ins + ib - 1) / ib, at = 0, down = 0;
    for (u.out0 = 0; u.out0 < o->out_channels; u.out0 += o->block_depth, down = !down) {
        at = down ? blocks - 1 : 0;
        for (int32_t i = 0; i < blocks; i++, at += down ? -1 : 1) {
            u.in0 = at * ib;
            walk_subkernels(w, u, least(o->block_depth, o->out_channels - u.out0), ib);
        }
    }
}

int64_t eu_place_weights(const eu_order *order, const int16_t *weights, int16_t *dense) {
    walk w = {.o = order, .weights = weights, .dense = dense};
    if (order->product != EU_U85) {
        walk_u65(&w);
        return w.count;
    }
    int32_t ou = unit_u85(order->macs_log2, order->microblock);
    if (!ou) {
        return 0;
    }
    walk_u85(&w, ou);
    return w.count;
}

int64_t eu_fast_block(const eu_order *o) {
    int32_t ou = unit_u85(o->macs_log2, o->microblock);
    return (int64_t)ou * inputs_of_tap(o, input_block_u85(o, ou)) * taps_of_round(o) / o->cores;
}
