/* Pixels and weights as tiles of AMX hold them. Included by amx_tile.h.
 *
 * A tile's rows should not straddle cache lines. So each pixel gets rows of whole blocks of 64 bytes
 * behind the image: one for each kernel row, which neighbours in y share, or, where that leaves too
 * many bytes of blocks empty, one for its whole window. In either case all pixels are `row` bytes
 * apart, from one line of the output to the next, too, so that tiles know no lines.
 *
 * Kernel row r of output line y is line y * row_step + r * run_step of the image (both count bytes).
 * Lines are sorted by what r * run_step leaves of row_step: among those of a class, the line of r lies
 * floor(r * run_step / row_step) beyond the first, and the next y has the next. */
#ifndef QN_GEMM_AMX_LAYOUT_H
#define QN_GEMM_AMX_LAYOUT_H

#include "../qn.h"
#include "pack.h"

/* GAP: between the end of an image and its blocks; it holds what windows, rounded up, read. */
enum { TILE = 16, BLOCK = 64, BLOCK_STEPS = 16, GAP = 2 * BLOCK, MOST_BLOCK_BYTES = 1 << 28 };
enum { MOST_TILE_PIXELS = 1 << 24, MOST_TILE_STEPS = 1 << 20, MOST_TILE_RUNS = 64 };

/* joined: kernel rows in a row of blocks, 1 or all; runs: what is left of them. */
typedef struct tile_layout {
    int64_t pixels;
    int32_t joined, runs, blocks;
    int64_t classes, height, bytes; /* lines of a class; bytes of all */
    int64_t row;
} tile_layout;

static inline int64_t whole_blocks(int64_t bytes) { return (bytes + BLOCK - 1) / BLOCK * BLOCK; }

static inline int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a * b, or something above MOST_BLOCK_BYTES. */
static inline int64_t bounded(int64_t a, int64_t b) {
    return a > MOST_BLOCK_BYTES / b ? MOST_BLOCK_BYTES + INT64_C(1) : a * b;
}

static tile_layout layout_of(const gemm_shape *s, int32_t joined) {
    const int32_t runs = s->runs / joined;
    const int64_t period = runs > 1 ? s->row_step / greatest_divisor(s->row_step, s->run_step) : 1;
    tile_layout l = {
        .pixels = (int64_t)s->rows * s->columns,
        .joined = joined,
        .runs = runs,
        .classes = period < runs ? period : runs,
        .height = s->rows + (runs > 1 ? (runs - 1) * s->run_step / s->row_step : 0),
        .row = whole_blocks((int64_t)joined * s->steps * 4),
    };
    l.blocks = (int32_t)(l.row / BLOCK);
    l.bytes = bounded(bounded(bounded(l.classes, l.height), s->columns), l.row);
    return l;
}

/* An instruction makes a tile's products in 16 cycles; as much takes each of its two ends. Eight
 * bytes are laid out in one. Both are what a prototype took on such a processor, within a third. */
static int64_t tile_cycles(const gemm_shape *s, const tile_layout *l) {
    const int64_t tiles = (l->pixels + TILE - 1) / TILE * ((s->channels + LANES - 1) / LANES);
    return 16 * tiles * ((int64_t)l->runs * l->blocks + 2) + l->bytes / 8;
}

/* The same there with vectors: two instructions a cycle, three quarters of the time. */
static int64_t vector_cycles(const gemm_shape *s) {
    const int64_t vectors = (s->channels + LANES - 1) / LANES;
    return (int64_t)s->rows * s->columns * vectors * s->runs * s->steps * 2 / 3;
}

/* The faster one. */
static tile_layout tile_layout_of(const gemm_shape *s) {
    const tile_layout apart = layout_of(s, 1), whole = layout_of(s, s->runs);
    return tile_cycles(s, &whole) < tile_cycles(s, &apart) ? whole : apart;
}

/* Is a tile full, and are tiles faster than vectors? */
static int tiles_pay(const gemm_shape *s) {
    const int64_t pixels = (int64_t)s->rows * s->columns, steps = (int64_t)s->runs * s->steps;
    if (pixels < TILE || pixels > MOST_TILE_PIXELS || steps > MOST_TILE_STEPS) {
        return 0;
    }
    const tile_layout l = tile_layout_of(s);
    return l.runs <= MOST_TILE_RUNS && l.bytes <= MOST_BLOCK_BYTES &&
           tile_cycles(s, &l) < vector_cycles(s);
}

/* Where the blocks start behind the image. */
static int64_t blocks_at(const gemm_shape *s) {
    const int64_t last = (s->rows - 1) * s->row_step + (s->columns - 1) * s->column_step;
    return whole_blocks(last + (s->runs - 1) * s->run_step + 4 * (int64_t)s->steps) + GAP;
}

/* Scratch memory of a shape whose image has so many bytes; QN_NOT_TAKEN where tiles do not pay or
 * the image is not taken. */
static int64_t tile_scratch(const gemm_shape *s, int64_t image) {
    if (image < 0 || image > MOST_BLOCK_BYTES || !tiles_pay(s)) {
        return QN_NOT_TAKEN;
    }
    const tile_layout l = tile_layout_of(s);
    return blocks_at(s) + l.bytes + BLOCK;
}

/* Where the image itself is blocks, as of windows of one pixel. */
static int is_laid_out(const gemm_shape *s, const tile_layout *l) {
    return s->runs == 1 && s->column_step == l->row &&
           (s->rows == 1 || s->row_step == s->columns * s->column_step);
}

/* Whole blocks: what they hold beyond the run meets weights of zero. */
static inline void lay_out_run(uint8_t *to, const uint8_t *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += BLOCK) {
        _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    }
}

/* One line; of the rows that lie in one, each overwrites what the one before has too much. */
static void lay_out_line(const gemm_shape *s, const tile_layout *l, const uint8_t *from,
                         uint8_t *to) {
    const int64_t bytes = whole_blocks(4 * (int64_t)s->steps);
    for (int32_t x = 0; x < s->columns; x++, from += s->column_step, to += l->row) {
        for (int32_t j = 0; j < l->joined; j++) {
            lay_out_run(to + 4 * (int64_t)j * s->steps, from + j * s->run_step, bytes);
        }
    }
}

static const uint8_t *lay_out(const gemm_shape *s, const tile_layout *l, uint8_t *image) {
    if (is_laid_out(s, l)) {
        return image;
    }
    uint8_t *const blocks = image + blocks_at(s);
    const int64_t end = (s->rows - 1) * s->row_step + (l->runs - 1) * s->run_step;
    for (int64_t c = 0; c < l->classes; c++) {
        for (int64_t y = 0; y < l->height; y++) {
            const int64_t at = c * s->run_step % s->row_step + y * s->row_step;
            if (at <= end) { /* otherwise no window has this line */
                lay_out_line(s, l, image + at, blocks + (c * l->height + y) * s->columns * l->row);
            }
        }
    }
    return blocks;
}

/* From a pixel's first row of blocks to that of each run. */
static void find_runs(const gemm_shape *s, const tile_layout *l, int64_t at[MOST_TILE_RUNS]) {
    for (int32_t r = 0; r < l->runs; r++) {
        const int64_t line = r * s->run_step / s->row_step;
        at[r] = (r % l->classes * l->height + line) * s->columns * l->row;
    }
}

/* Filters as gemm_pack() asks for them, in rows of blocks. */
typedef struct tile_filters {
    const gemm_filters *of;
    int32_t joined, steps;
} tile_filters;

static int32_t tile_start_of(const void *context, int64_t o) {
    const tile_filters *f = context;
    return f->of->start(f->of->context, o);
}

static uint32_t tile_weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const tile_filters *f = context;
    const int64_t row = k / f->steps;
    return row < f->joined ? f->of->weights(f->of->context, o, r + row, k % f->steps) : 0;
}

static gemm_shape tile_shape(const gemm_shape *s, const tile_layout *l) {
    gemm_shape shape = *s;
    shape.runs = l->runs;
    shape.steps = l->blocks * BLOCK_STEPS;
    return shape;
}

static int64_t tile_packed_bytes(const gemm_shape *s) {
    const tile_layout l = tile_layout_of(s);
    const gemm_shape shape = tile_shape(s, &l);
    return gemm_packed_bytes(&shape);
}

static void tile_pack(const gemm_shape *s, const gemm_filters *of, int32_t *packed) {
    const tile_layout l = tile_layout_of(s);
    const gemm_shape shape = tile_shape(s, &l);
    const tile_filters f = {of, l.joined, s->steps};
    const gemm_filters in_blocks = {&f, tile_start_of, tile_weights_of};
    gemm_pack(&shape, &in_blocks, packed);
}

#endif
