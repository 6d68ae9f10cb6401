/* The instructions of AMX that gemm/amx.inc and common/tiles.h use, as Intel defines them, in plain
 * C: palette 1, eight tiles of up to 16 rows of up to 64 bytes. The model aborts if a processor
 * raises an exception. AddressSanitizer detects accesses outside an array. */
#ifndef QN_AMX_MODEL_H
#define QN_AMX_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_BYTES = 64 };

typedef struct model_tile {
    int rows, bytes; /* 0: not configured */
    uint8_t data[MODEL_ROWS][MODEL_BYTES];
} model_tile;

/* A thread's, of all files that include this. */
__attribute__((weak)) _Thread_local model_tile model_tiles[MODEL_TILES];
__attribute__((weak)) _Thread_local tile_config model_config;

#define MODEL_DEMAND(holds)                                                             \
    do {                                                                                \
        if (!(holds)) {                                                                 \
            fprintf(stderr, "AMX: not %s (%s, line %d)\n", #holds, __FILE__, __LINE__); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

/* Instructions so far. */
typedef struct model_count {
    long loads, stores, dots;
} model_count;
__attribute__((weak)) _Thread_local model_count model_counted;

static inline model_tile *model_configured(int number) {
    MODEL_DEMAND(number >= 0 && number < MODEL_TILES);
    MODEL_DEMAND(model_tiles[number].rows > 0 && model_tiles[number].bytes > 0);
    return &model_tiles[number];
}

static inline void model_release(void) {
    memset(model_tiles, 0, sizeof model_tiles);
    memset(&model_config, 0, sizeof model_config);
}

/* Clears every tile. Demands a new configuration: our rule, not the processor's. */
static inline void model_configure(const tile_config *config) {
    MODEL_DEMAND(memcmp(&model_config, config, sizeof *config) != 0);
    MODEL_DEMAND(sizeof *config == 64 && config->palette == 1 && config->start_row == 0);
    for (int i = 0; i < 14; i++) {
        MODEL_DEMAND(config->reserved[i] == 0);
    }
    model_release();
    model_config = *config;
    for (int t = 0; t < 16; t++) {
        const int rows = config->rows[t], bytes = config->row_bytes[t];
        MODEL_DEMAND(rows <= MODEL_ROWS && bytes <= MODEL_BYTES && !rows == !bytes);
        MODEL_DEMAND(t < MODEL_TILES || rows == 0);
        if (t < MODEL_TILES) {
            model_tiles[t].rows = rows;
            model_tiles[t].bytes = bytes;
        }
    }
}

/* Rows that straddle cache lines are slow, not wrong: ours to demand of all but pixels, too. */
static inline void model_demand_lines(const void *rows, int64_t stride) {
    MODEL_DEMAND((uintptr_t)rows % 64 == 0 && stride % 64 == 0);
}

/* Bytes outside the configured part become zero. */
static inline void model_load(int number, const void *from, int64_t stride) {
    if (number != 4 && number != 5) {
        model_demand_lines(from, stride);
    }
    model_tile *tile = model_configured(number);
    model_counted.loads++;
    memset(tile->data, 0, sizeof tile->data);
    for (int r = 0; r < tile->rows; r++) {
        memcpy(tile->data[r], (const uint8_t *)from + r * stride, (size_t)tile->bytes);
    }
}

static inline void model_store(int number, void *to, int64_t stride) {
    model_demand_lines(to, stride);
    const model_tile *tile = model_configured(number);
    model_counted.stores++;
    for (int r = 0; r < tile->rows; r++) {
        memcpy((uint8_t *)to + r * stride, tile->data[r], (size_t)tile->bytes);
    }
}

/* Four bytes, signed or not, by four signed ones. */
static inline uint32_t model_products(int is_signed, const uint8_t *a, const uint8_t *b) {
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (uint32_t)((is_signed ? (int8_t)a[i] : a[i]) * (int8_t)b[i]);
    }
    return sum;
}

/* sums[m][n] += the products of dwords a[m][k] and b[k][n], for every k. */
static inline void model_dot(int is_signed, int sums, int pixels, int weights) {
    model_tile *c = model_configured(sums);
    const model_tile *a = model_configured(pixels), *b = model_configured(weights);
    model_counted.dots++;
    MODEL_DEMAND(sums != pixels && pixels != weights && weights != sums);
    MODEL_DEMAND(a->bytes % 4 == 0 && b->bytes % 4 == 0 && c->bytes % 4 == 0);
    MODEL_DEMAND(c->rows == a->rows && c->bytes == b->bytes && a->bytes / 4 == b->rows);
    for (int m = 0; m < c->rows; m++) {
        uint32_t row[MODEL_BYTES / 4];
        memcpy(row, c->data[m], sizeof row);
        for (int k = 0; k < a->bytes / 4; k++) {
            for (int n = 0; n < c->bytes / 4; n++) {
                row[n] += model_products(is_signed, a->data[m] + 4 * k, b->data[k] + 4 * n);
            }
        }
        memcpy(c->data[m], row, (size_t)c->bytes);
    }
}

#define TILE_CONFIGURE(config) model_configure(config)
#define TILE_CONFIGURED(config) (*(config) = model_config)
#define TILE_RELEASE() model_release()
#define TILE_LOAD(tile, from, stride) model_load(tile, from, stride)
#define TILE_STORE(tile, to, stride) model_store(tile, to, stride)
#define TILE_DOT_S8(sums, pixels, weights) model_dot(1, sums, pixels, weights)
#define TILE_DOT_U8(sums, pixels, weights) model_dot(0, sums, pixels, weights)

#endif
