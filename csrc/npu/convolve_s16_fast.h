/* Convolutions of 16 bits with sums of 64: those of the engine in parts, as parts_fast.h has them;
 * channels that stand for themselves at once. Included by convolve_s16_<isa>.c after gemm/<isa>.h and
 * vec_dot. */
#ifndef QN_NPU_CONVOLVE_S16_FAST_H
#define QN_NPU_CONVOLVE_S16_FAST_H

#include "parts_fast.h"

enum { BLOCK = 32 }; /* pixels, or channels */

static inline int each_alone(const qn_npu_conv *p) { return p->depth == 1 && p->out_c == p->group; }

/* Bytes of a block's sums in 64 bits, behind which its parts and then the image lie. */
static int64_t totals_bytes(const gemm_shape *shape) {
    return shape_of_part(shape, part_at(shape, 0), 1).pitch * BLOCK * (int64_t)sizeof(int64_t);
}

static int64_t convolve_scratch(const qn_npu_conv *p) {
    if (each_alone(p)) {
        return 0;
    }
    int64_t image = padded_bytes(p);
    if (image < 0) {
        return QN_NOT_TAKEN;
    }
    gemm_shape shape = group_shape(p);
    return totals_bytes(&shape) / 2 * 3 + image;
}

static int64_t convolve_packed(const qn_npu_conv *p) {
    if (each_alone(p)) {
        return n_convolve_row(p) * p->out_c * (int64_t)sizeof(int16_t);
    }
    gemm_shape shape = group_shape(p);
    int64_t dwords = 0;
    for (int32_t i = 0; i < parts_of(&shape); i++) {
        dwords += 2 * part_dwords(&shape, part_at(&shape, i));
    }
    return p->group * dwords * (int64_t)sizeof(int32_t);
}

/* Weights of channels that stand for themselves: [tap][channel]. */
static void pack_each(const qn_npu_conv *p, const int16_t *weights, int16_t *packed) {
    int64_t taps = n_convolve_row(p);
    for (int64_t tap = 0; tap < taps; tap++) {
        for (int32_t c = 0; c < p->out_c; c++) {
            *packed++ = weights[c * taps + tap];
        }
    }
}

static void convolve_pack(const qn_npu_conv *p, const int16_t *weights, void *packed) {
    if (each_alone(p)) {
        pack_each(p, weights, packed);
        return;
    }
    gemm_shape shape = group_shape(p);
    int32_t *to = packed;
    filters f = {.length = n_convolve_row(p), .channels = shape.channels};
    f.run = f.length / shape.runs;
    gemm_filters of = {&f, no_start, half_weights};
    for (int32_t g = 0; g < p->group; g++) {
        f.weights = weights + g * shape.channels * f.length;
        for (int32_t i = 0; i < parts_of(&shape); i++) {
            f.of = part_at(&shape, i);
            gemm_shape own = shape_of_part(&shape, f.of, 1);
            for (f.high = 0; f.high < 2; f.high++, to += part_dwords(&shape, f.of)) {
                gemm_pack(&own, &of, to);
            }
        }
    }
}

/* out = saturate(floor(totals / 2^shift)) */
static inline void finish(const int64_t *totals, const int64_t *pairs, int64_t count,
                          int16_t *out) {
    for (int64_t c = 0; c < count; c++) {
        int64_t value = qn_asr64(totals[c], (int)(pairs[2 * c + 1] & 63));
        out[c] = (int16_t)qn_clamp64(value, INT16_MIN, INT16_MAX);
    }
}

/* totals += factor * sums */
static inline void add_part(int64_t *restrict totals, const int32_t *restrict sums, int64_t count,
                            int64_t factor) {
    for (int64_t i = 0; i < count; i++) {
        totals[i] += factor * sums[i];
    }
}

/* `columns` pixels side by side, of one group. */
static void block(const gemm_shape *shape, const uint8_t *image, const int32_t *packed,
                  int32_t columns, const int64_t *pairs, int64_t *totals, int16_t *out) {
    const stage last = 0;
    int32_t *sums = (int32_t *)((char *)totals + totals_bytes(shape));
    int64_t pitch = shape_of_part(shape, part_at(shape, 0), 1).pitch;
    memset(totals, 0, (size_t)(pitch * columns) * sizeof *totals);
    for (int32_t i = 0; i < parts_of(shape); i++) {
        part of = part_at(shape, i);
        gemm_shape own = shape_of_part(shape, of, columns);
        const uint8_t *from = image + of.run * shape->run_step + (int64_t)of.step * 4;
        for (int high = 0; high < 2; high++, packed += part_dwords(shape, of)) {
            gemm_run(&own, from, packed, sums, &last);
            add_part(totals, sums, pitch * columns, high ? 256 : 1);
        }
    }
    for (int32_t x = 0; x < columns; x++, totals += pitch, out += shape->pitch) {
        for (int64_t c = 0; c < shape->channels; c++) {
            totals[c] += pairs[2 * c];
        }
        finish(totals, pairs, shape->channels, out);
    }
}

/* One pixel of channels that stand for themselves. */
static void each_pixel(const qn_npu_conv *p, const qn_buffers *b, int32_t y, int32_t x,
                       int64_t first, int16_t *out) {
    const int64_t *pairs = (const int64_t *)b->bias + 2 * first;
    int64_t totals[BLOCK], left = p->group - first, count = left < BLOCK ? left : BLOCK;
    for (int64_t c = 0; c < count; c++) {
        totals[c] = pairs[2 * c];
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_n;
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            if (in_y < 0 || in_y >= p->in_h || in_x < 0 || in_x >= p->in_w) {
                continue;
            }
            const int16_t *cells =
                (const int16_t *)b->in[0] + (in_y * p->in_w + in_x) * p->group + first;
            const int16_t *weights =
                (const int16_t *)b->packed + ((int64_t)ky * p->kernel_w + kx) * p->group + first;
            for (int64_t c = 0; c < count; c++) {
                totals[c] += (int32_t)cells[c] * (int32_t)weights[c];
            }
        }
    }
    finish(totals, pairs, count, out + first);
}

static int convolve_each(const qn_npu_conv *p, const qn_buffers *b) {
    int16_t *out = b->out;
    for (int32_t y = 0; y < p->out_h; y++) {
        for (int32_t x = 0; x < p->out_w; x++, out += p->group) {
            for (int64_t first = 0; first < p->group; first += BLOCK) {
                each_pixel(p, b, y, x, first, out);
            }
        }
    }
    return QN_OK;
}

static int convolve_run(const qn_npu_conv *p, const qn_buffers *b) {
    if (each_alone(p)) {
        return convolve_each(p, b);
    }
    gemm_shape shape = group_shape(p);
    const int32_t *packed = b->packed;
    int64_t *totals = b->scratch, dwords = convolve_packed(p) / 4 / p->group;
    uint8_t *image = (uint8_t *)b->scratch + totals_bytes(&shape) / 2 * 3;
    for (int32_t g = 0; g < p->group; g++, packed += dwords) {
        int16_t *out = (int16_t *)b->out + (int64_t)g * shape.channels;
        const int64_t *pairs = (const int64_t *)b->bias + 2 * (int64_t)g * shape.channels;
        pad_group(p, (const int16_t *)b->in[0] + (int64_t)g * p->depth, (pixel *)image);
        for (int64_t y = 0; y < shape.rows; y++) {
            for (int64_t x = 0; x < shape.columns; x += BLOCK) {
                int64_t left = shape.columns - x;
                block(&shape, image + y * shape.row_step + x * shape.column_step, packed,
                      (int32_t)(left < BLOCK ? left : BLOCK), pairs, totals,
                      out + (y * shape.columns + x) * shape.pitch);
            }
        }
    }
    return QN_OK;
}

int ROW()(const void *params, const qn_buffers *b) { return convolve_run(params, b); }

int64_t ROW(_scratch)(const void *params) { return convolve_scratch(params); }

int64_t ROW(_packed)(const void *params) { return convolve_packed(params); }

void ROW(_pack)(const void *params, const void *weights, const void *bias, void *packed) {
    (void)bias; /* read where the sums are added up */
    convolve_pack(params, weights, packed);
}

#endif
