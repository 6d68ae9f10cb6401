/* The engine on tiles of AMX: what tile.h computes, 16 pixels by 16 channels by 64 products an
 * instruction. Included once by each file of an arithmetic, after amx.h and
 *   element, stage, stage_put(), STAGE_FROM()   as in tile.h
 * An image is laid out in blocks behind itself: tile_scratch() has the bytes of both. */
#ifndef QN_GEMM_AMX_TILE_H
#define QN_GEMM_AMX_TILE_H

#include "amx_layout.h"
#include "unroll.h"

#ifndef STAGE_FROM
#define STAGE_FROM(last, v) (*(last))
#endif

/* A group of channels, all of whose pixels lie in blocks. */
typedef struct tile_spot {
    const uint8_t *blocks;
    const int64_t *runs; /* as find_runs() has left them */
    element *out;
    const int32_t *start, *weights;
    int count;
} tile_spot;

/* Sums of 16 pixels from `first` on, or of those from `second` on, too. */
QN_INLINE void tile_sums(const int pixels, const int vectors, const tile_layout *l,
                         const tile_spot *spot, int64_t first, int64_t second, int32_t *sums) {
    const int64_t pitch = vectors * (int64_t)sizeof(int32_t) * LANES;
    const int32_t *weights = spot->weights;
    TILE_LOAD(0, spot->start, 0);
    if (vectors == 2) {
        TILE_LOAD(1, spot->start + LANES, 0);
    }
    if (pixels == 2) {
        TILE_LOAD(2, spot->start, 0);
        if (vectors == 2) {
            TILE_LOAD(3, spot->start + LANES, 0);
        }
    }
    for (int32_t r = 0; r < l->runs; r++) {
        const uint8_t *a = spot->blocks + spot->runs[r] + first * l->row;
        const uint8_t *b = spot->blocks + spot->runs[r] + second * l->row;
        for (int32_t k = 0; k < l->blocks; k++, a += BLOCK, b += BLOCK) {
            TILE_LOAD(4, a, l->row);
            TILE_LOAD(6, weights, pitch);
            TILE_DOT(0, 4, 6);
            if (vectors == 2) {
                TILE_LOAD(7, weights + LANES, pitch);
                TILE_DOT(1, 4, 7);
            }
            if (pixels == 2) {
                TILE_LOAD(5, b, l->row);
                TILE_DOT(2, 5, 6);
                if (vectors == 2) {
                    TILE_DOT(3, 5, 7);
                }
            }
            weights += BLOCK_STEPS * vectors * LANES;
        }
    }
    TILE_STORE(0, sums, pitch);
    if (vectors == 2) {
        TILE_STORE(1, sums + LANES, pitch);
    }
    if (pixels == 2) {
        sums += TILE * vectors * LANES;
        TILE_STORE(2, sums, pitch);
        if (vectors == 2) {
            TILE_STORE(3, sums + LANES, pitch);
        }
    }
}

/* The outputs of 16 pixels. */
QN_INLINE void put_tile(const int vectors, const gemm_shape *s, const tile_spot *spot,
                        const stage *last, int64_t first, const int32_t *sums) {
    element *out = spot->out + first * s->pitch;
    for (int i = 0; i < TILE; i += 4, out += 4 * s->pitch, sums += 4 * vectors * LANES) {
        vec acc[16][4];
        QN_EACH(4, vectors, acc[p][v] = vec_load(sums + (p * vectors + v) * LANES));
        stage_put(last, out, s->pitch, spot->count, 4, vectors, acc);
    }
}

/* All pixels, the last 16 of which may have been computed in part before. */
QN_INLINE void tile_group(const int vectors, const gemm_shape *s, const tile_layout *l,
                          const tile_spot *spot, const stage *last) {
    _Alignas(64) int32_t sums[2 * TILE * 2 * LANES];
    const int64_t end = l->pixels - TILE;
    for (int64_t p = 0; p < l->pixels; p += 2 * TILE) {
        const int64_t first = p < end ? p : end, second = first + TILE < end ? first + TILE : end;
        if (first < end) {
            tile_sums(2, vectors, l, spot, first, second, sums);
            put_tile(vectors, s, spot, last, second, sums + TILE * vectors * LANES);
        } else {
            tile_sums(1, vectors, l, spot, first, first, sums);
        }
        put_tile(vectors, s, spot, last, first, sums);
    }
}

static void tile_group_1(const gemm_shape *s, const tile_layout *l, const tile_spot *spot,
                         const stage *last) {
    tile_group(1, s, l, spot, last);
}
static void tile_group_2(const gemm_shape *s, const tile_layout *l, const tile_spot *spot,
                         const stage *last) {
    tile_group(2, s, l, spot, last);
}

/* packed: as tile_pack() has left it. */
static void tile_run(const gemm_shape *s, uint8_t *image, const int32_t *packed, element *out,
                     const stage *last) {
    const tile_layout l = tile_layout_of(s);
    const uint8_t *blocks = lay_out(s, &l, image);
    const int64_t vectors = (s->channels + LANES - 1) / LANES;
    const int32_t *weights = packed + vectors * LANES;
    int64_t runs[MOST_TILE_RUNS];
    int group;
    find_runs(s, &l, runs);
    TILE_CONFIGURE(&whole_tiles);
    for (int64_t v = 0; v < vectors; v += group) {
        group = gemm_group(vectors - v);
        const int64_t left = s->channels - v * LANES;
        const tile_spot spot = {
            .blocks = blocks,
            .runs = runs,
            .out = out + v * LANES,
            .start = packed + v * LANES,
            .weights = weights,
            .count = (int)(left < group * LANES ? left : group * LANES),
        };
        const stage here = STAGE_FROM(last, v);
        if (group == 2) {
            tile_group_2(s, &l, &spot, &here);
        } else {
            tile_group_1(s, &l, &spot, &here);
        }
        weights += (int64_t)group * LANES * l.runs * l.blocks * BLOCK_STEPS;
    }
    TILE_RELEASE();
}

/* The arithmetics name the engine as tile.h does. */
#define gemm_packed_bytes tile_packed_bytes
#define gemm_pack tile_pack
#define gemm_run tile_run

#endif
