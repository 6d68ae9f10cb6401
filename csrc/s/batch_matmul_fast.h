/* Products of matrices of the s8 API on the engine: both operands as halfwords with their offsets, so
 * that nothing need be taken out of sums; the right one is laid out as weights in each call. Included by
 * batch_matmul_s8_<isa>.c after stage_<isa>.h, vec_dot, gemm/tile.h.
 *
 * All columns have one pair. Packed are 64 bytes with the kind of the stage, and rows of as many vectors
 * as the engine has side by side. Scratch: the left operand, then the right one. */
#ifndef QN_S_BATCH_MATMUL_FAST_H
#define QN_S_BATCH_MATMUL_FAST_H

#include <string.h>

#include "batch_matmul.h"

enum { HEAD = 16, ROWS = STAGE_ROWS * LANES, MOST_BYTES = 1 << 28 };

static gemm_shape product_shape(const qn_s_bmm *p) {
    const int32_t steps = (p->lhs_c + 1) / 2;
    return (gemm_shape){
        .rows = 1,
        .columns = p->lhs_w,
        .channels = p->rhs_w,
        .runs = 1,
        .steps = steps,
        .column_step = 4 * (int64_t)steps,
        .pitch = p->rhs_w,
    };
}

static int64_t left_bytes(const gemm_shape *shape) { return shape->columns * shape->column_step; }

/* Helium has sums in lanes. */
static int64_t product_scratch(const qn_s_bmm *p) {
    const gemm_shape shape = product_shape(p);
    const int64_t bytes = left_bytes(&shape) + gemm_packed_bytes(&shape);
    const int lanes = qn_path(p->profile) == QN_PATH_MVE && qn_rounding(p->profile) == QN_SINGLE;
    return bytes > MOST_BYTES || (lanes && p->shift >= 0) ? QN_NOT_TAKEN : bytes;
}

static int64_t product_packed(void) { return 4 * (HEAD + MOST_VECTORS * ROWS); }

static void pack_floats(const stage_scale *scale, int32_t *rows) {
    for (int lane = 0; lane < LANES; lane++) {
        memcpy(rows + SCALE * LANES + lane, &scale->scale, sizeof(float));
        memcpy(rows + REST * LANES + lane, &scale->rest, sizeof(float));
        memcpy(rows + HALF * LANES + lane, &scale->half, sizeof(float));
    }
}

static void product_pack(const qn_s_bmm *p, int32_t *packed) {
    const s_stage last = {p->profile, p->output_offset, p->act_min, p->act_max};
    const stage_channel pair = {p->multiplier, p->shift, (int64_t)p->lhs_c * 255 * 255};
    const int quick = stage_is_quick(&pair, &last);
    stage_scale scale;
    stage_kind kind = quick ? STAGE_QUICK : STAGE_EXACT;
    kind = quick && stage_float_of(&pair, &last, &scale) ? STAGE_FLOAT : kind;
    memset(packed, 0, (size_t)product_packed());
    packed[0] = (int32_t)kind;
    for (int v = 0; v < MOST_VECTORS; v++) {
        int32_t *rows = packed + HEAD + v * ROWS;
        if (kind == STAGE_FLOAT) {
            pack_floats(&scale, rows);
            continue;
        }
        for (int lane = 0; lane < LANES; lane++) {
            (void)stage_pack_lane(rows, LANES, lane, kind, &pair, &last);
        }
    }
}

/* Elements 2k and 2k + 1 of a row with their offset; zeros behind it. */
static inline int32_t pair_at(const int8_t *row, int64_t k, int64_t count, int32_t offset) {
    const int16_t two[2] = {(int16_t)(row[2 * k] + offset),
                            (int16_t)(2 * k + 1 < count ? row[2 * k + 1] + offset : 0)};
    int32_t dword;
    memcpy(&dword, two, sizeof dword);
    return dword;
}

/* Four such pairs, all of them inside of the row. */
static inline __m128i four_pairs(const int8_t *row, int64_t k, int32_t offset) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(row + 2 * k));
    return _mm_add_epi16(_mm_cvtepi8_epi16(bytes), _mm_set1_epi16((int16_t)offset));
}

static void lay_left(const qn_s_bmm *p, const gemm_shape *shape, const int8_t *lhs, int32_t *to) {
    for (int32_t y = 0; y < p->lhs_w; y++, lhs += p->lhs_c, to += shape->steps) {
        int32_t k = 0;
        for (; 2 * k + 8 <= p->lhs_c; k += 4) {
            _mm_storeu_si128((__m128i *)(to + k), four_pairs(lhs, k, p->lhs_offset));
        }
        for (; k < shape->steps; k++) {
            to[k] = pair_at(lhs, k, p->lhs_c, p->lhs_offset);
        }
    }
}

/* Four rows side by side; next: dwords from one step to the next. */
static void lay_four(const qn_s_bmm *p, const int8_t *const rows[4], int32_t steps, int64_t next,
                     int32_t *to) {
    int32_t k = 0;
    for (; 2 * k + 8 <= p->rhs_c; k += 4, to += 4 * next) {
        const __m128i a = four_pairs(rows[0], k, p->rhs_offset);
        const __m128i b = four_pairs(rows[1], k, p->rhs_offset);
        const __m128i c = four_pairs(rows[2], k, p->rhs_offset);
        const __m128i d = four_pairs(rows[3], k, p->rhs_offset);
        const __m128i ab[2] = {_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)};
        const __m128i cd[2] = {_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d)};
        for (int i = 0; i < 2; i++) {
            __m128i *at = (__m128i *)(void *)(to + 2 * i * next);
            _mm_storeu_si128(at, _mm_unpacklo_epi64(ab[i], cd[i]));
            at = (__m128i *)(void *)(to + (2 * i + 1) * next);
            _mm_storeu_si128(at, _mm_unpackhi_epi64(ab[i], cd[i]));
        }
    }
    for (; k < steps; k++, to += next) {
        for (int i = 0; i < 4; i++) {
            to[i] = pair_at(rows[i], k, p->rhs_c, p->rhs_offset);
        }
    }
}

/* In the order of gemm_pack(), in which four neighbouring channels have neighbouring lanes; starts of 0.
 * Channels behind the last are the last. */
static void lay_right(const qn_s_bmm *p, const gemm_shape *shape, const int8_t *rhs, int32_t *to) {
    const int64_t vectors = (shape->channels + LANES - 1) / LANES;
    memset(to, 0, (size_t)(vectors * LANES) * sizeof *to);
    to += vectors * LANES;
    int group;
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        const int lanes = group * LANES;
        for (int i = 0; i < lanes; i += 4) {
            const int64_t first = v * LANES + gemm_channel(group, i / LANES, i % LANES);
            const int8_t *rows[4];
            for (int r = 0; r < 4; r++) {
                const int64_t o = first + r < shape->channels ? first + r : shape->channels - 1;
                rows[r] = rhs + o * p->rhs_c;
            }
            lay_four(p, rows, shape->steps, lanes, to + i);
        }
        to += (int64_t)lanes * shape->steps;
    }
}

static inline int32_t larger_of(int32_t a, int32_t e) { return a > e ? a : e; }

static int product_run(const qn_s_bmm *p, const qn_buffers *b) {
    const int32_t *packed = b->packed;
    const s_stage last = {p->profile, p->output_offset, p->act_min, p->act_max};
    const stage to_bytes = stage_of(&last, (stage_kind)packed[0], packed + HEAD);
    const gemm_shape shape = product_shape(p);
    const int64_t left = (int64_t)p->lhs_w * p->lhs_c, right = (int64_t)p->rhs_w * p->rhs_c;
    int32_t *weights = (int32_t *)(void *)((char *)b->scratch + left_bytes(&shape));
    int8_t *out = b->out;
    for (int32_t n = 0; n < larger_of(p->lhs_n, p->rhs_n); n++) {
        for (int32_t h = 0; h < larger_of(p->lhs_h, p->rhs_h); h++) {
            const int64_t at =
                (p->lhs_n == 1 ? 0 : n) * (int64_t)p->lhs_h + (p->lhs_h == 1 ? 0 : h);
            const int64_t to =
                (p->rhs_n == 1 ? 0 : n) * (int64_t)p->rhs_h + (p->rhs_h == 1 ? 0 : h);
            lay_left(p, &shape, (const int8_t *)b->in[0] + at * left, b->scratch);
            lay_right(p, &shape, (const int8_t *)b->in[1] + to * right, weights);
            gemm_run(&shape, b->scratch, weights, out, &to_bytes);
            out += (int64_t)p->lhs_w * p->rhs_w;
        }
    }
    return QN_OK;
}

int ROW()(const void *params, const qn_buffers *b) { return product_run(params, b); }

int64_t ROW(_scratch)(const void *params) { return product_scratch(params); }

int64_t ROW(_packed)(const void *params) {
    (void)params;
    return product_packed();
}

void ROW(_pack)(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    product_pack(params, packed);
}

#endif
