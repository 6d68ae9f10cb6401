/* Convolutions of 8 bits on the engine and the strips of gemm/: the image of a group padded once into
 * scratch memory, the weights packed once at plan time. Included by convolve_<type>_<isa>.c after
 *   input, LOWEST, HIGHEST            an element of the image, and its range
 *   pixel, weight, PER_STEP, OFFSET   how the engine holds image (input + OFFSET) and weights, and how
 *                                     many of either a dword holds
 *   plain                             the plain row
 * and stage_<isa>.h.
 *
 * Packed are 64 bytes that say whether the sums fit the engine's 32 bits, then the shifts of all
 * lanes, start[] and the weights of each group. Where a sum may leave 32 bits, the plain row runs. */
#ifndef QN_NPU_CONVOLVE_FAST_H
#define QN_NPU_CONVOLVE_FAST_H

#include <string.h>

#include "convolve.h"
#include "image_fast.h"

enum { HEAD = 16 }; /* dwords */

/* Filters as gemm_pack() and strips_pack() ask for them, from the first of a group on. */
typedef struct filters {
    const qn_npu_conv *p;
    gemm_shape shape;
    const int8_t *weights;
    const int64_t *pairs;
} filters;

static int32_t start_of(const void *context, int64_t o) {
    const filters *f = context;
    return qn_wrap32((uint32_t)f->pairs[2 * o]);
}

static int32_t gemm_start_of(const void *context, int64_t o) {
    const filters *f = context;
    if (o >= f->shape.channels) {
        return 0;
    }
    int64_t length = n_convolve_row(f->p);
    uint32_t acc = (uint32_t)start_of(f, o);
    for (int64_t i = 0; i < length; i++) {
        acc -= (uint32_t)(OFFSET * f->weights[o * length + i]);
    }
    return qn_wrap32(acc);
}

static uint32_t gemm_weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const filters *f = context;
    int64_t length = n_convolve_row(f->p), run = length / f->shape.runs;
    weight step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < f->shape.channels; i++) {
        int64_t at = k * PER_STEP + i;
        step[i] = at < run ? f->weights[o * length + r * run + at] : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

static int32_t strips_weight_of(const void *context, int64_t c, int64_t ky, int64_t kx) {
    const filters *f = context;
    return f->weights[(c * f->p->kernel_h + ky) * f->p->kernel_w + kx];
}

/* A shift of sums that fit 32 bits: by more than 31 bits is as by 31. */
static int32_t shift_of(const filters *f, int64_t o) {
    int64_t shift = f->pairs[2 * o + 1] & 63;
    return shift < 31 ? (int32_t)shift : 31;
}

/* Does every sum fit 32 bits, whatever the image? */
static int fits(const qn_npu_conv *p, const int8_t *weights, const int64_t *pairs) {
    int64_t length = n_convolve_row(p);
    for (int64_t o = 0; o < p->out_c; o++, weights += length) {
        int64_t least = pairs[2 * o], most = least;
        if (least < INT32_MIN || least > INT32_MAX) {
            return 0;
        }
        for (int64_t i = 0; i < length; i++) {
            least += weights[i] * (weights[i] > 0 ? LOWEST : HIGHEST);
            most += weights[i] * (weights[i] > 0 ? HIGHEST : LOWEST);
        }
        if (least < INT32_MIN || most > INT32_MAX) {
            return 0;
        }
    }
    return 1;
}

/* Each channel for itself goes in strips, unless a row of them is too long. */
static int goes_in_strips(const qn_npu_conv *p, strips_shape *shape) {
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
    };
    return p->depth == 1 && p->out_c == p->group && strips_bytes(shape) >= 0;
}

static int64_t convolve_scratch(const qn_npu_conv *p) {
    strips_shape strips;
    return goes_in_strips(p, &strips) ? strips_bytes(&strips) : padded_bytes(p);
}

/* Dwords of one group: shifts, then what the engine packs. */
static int64_t shift_lanes(const gemm_shape *shape) {
    return ((int64_t)shape->channels + LANES - 1) / LANES * LANES;
}
static int64_t group_dwords(const gemm_shape *shape) {
    return shift_lanes(shape) + gemm_packed_bytes(shape) / (int64_t)sizeof(int32_t);
}

static int64_t convolve_packed(const qn_npu_conv *p) {
    strips_shape strips;
    if (goes_in_strips(p, &strips)) {
        return HEAD * 4 + blocks_of(&strips) * LANES * 4 + strips_packed_bytes(&strips);
    }
    gemm_shape shape = group_shape(p);
    return HEAD * 4 + p->group * group_dwords(&shape) * 4;
}

static void pack_shifts(const filters *f, int32_t *shifts) {
    int64_t vectors = shift_lanes(&f->shape) / LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        for (int i = 0; i < group * LANES; i++) {
            int64_t o = v * LANES + gemm_channel(group, i / LANES, i % LANES);
            *shifts++ = o < f->shape.channels ? shift_of(f, o) : 0;
        }
    }
}

static void pack_strips(const strips_shape *shape, const filters *f, int32_t *packed) {
    strips_filters of = {f, start_of, strips_weight_of};
    int32_t lanes = blocks_of(shape) * LANES;
    for (int32_t lane = 0; lane < lanes; lane++) {
        int32_t c = strip_channel(shape, lane);
        packed[lane] = c < shape->channels ? shift_of(f, c) : 0;
    }
    strips_pack(shape, &of, packed + lanes);
}

static void convolve_pack(const qn_npu_conv *p, const int8_t *weights, const int64_t *pairs,
                          int32_t *packed) {
    filters f = {p, group_shape(p), weights, pairs};
    strips_shape strips;
    memset(packed, 0, HEAD * sizeof(int32_t));
    packed[0] = fits(p, weights, pairs);
    packed += HEAD;
    if (goes_in_strips(p, &strips)) {
        pack_strips(&strips, &f, packed);
        return;
    }
    gemm_filters of = {&f, gemm_start_of, gemm_weights_of};
    for (int32_t g = 0; g < p->group; g++) {
        pack_shifts(&f, packed);
        gemm_pack(&f.shape, &of, packed + shift_lanes(&f.shape));
        packed += group_dwords(&f.shape);
        f.weights += f.shape.channels * n_convolve_row(p);
        f.pairs += 2 * (int64_t)f.shape.channels;
    }
}

static int convolve_run(const qn_npu_conv *p, const qn_buffers *b) {
    const int32_t *packed = b->packed;
    if (!packed[0]) {
        return plain(p, b);
    }
    packed += HEAD;
    stage last = stage_of(packed);
    strips_shape strips;
    if (goes_in_strips(p, &strips)) {
        packed += blocks_of(&strips) * LANES;
        strips_run(&strips, b->in[0], b->scratch, packed, b->out, &last);
        return QN_OK;
    }
    gemm_shape shape = group_shape(p);
    for (int32_t g = 0; g < p->group; g++, packed += group_dwords(&shape)) {
        last = stage_of(packed);
        pad_group(p, (const input *)b->in[0] + (int64_t)g * p->depth, b->scratch);
        gemm_run(&shape, b->scratch, packed + shift_lanes(&shape),
                 (element *)b->out + (int64_t)g * shape.channels, &last);
    }
    return QN_OK;
}

int ROW()(const void *params, const qn_buffers *b) { return convolve_run(params, b); }

int64_t ROW(_scratch)(const void *params) { return convolve_scratch(params); }

int64_t ROW(_packed)(const void *params) { return convolve_packed(params); }

void ROW(_pack)(const void *params, const void *weights, const void *bias, void *packed) {
    convolve_pack(params, weights, bias, packed);
}

#endif
