/* AMX-INT8: eight tiles of 16 rows of 64 bytes. 0 to 3 hold sums, 4 and 5 pixels, 6 and 7 weights.
 *
 * A step of a tile of weights is a row, which has four bytes for each of 16 channels. Tiles are a
 * thread's own; nothing but a row that runs has them configured. */
#ifndef QN_GEMM_AMX_H
#define QN_GEMM_AMX_H

#define FOLDS 0
#define MOST_VECTORS 2

#include "avx512vnni.h"

/* What LDTILECFG reads. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static const tile_config whole_tiles = {
    1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

/* A test on a host without AMX gets the same instructions as plain C. Otherwise assembly, because
 * the intrinsics, too, are macros of literal tile numbers.
 *   TILE_LOAD     16 rows, `stride` bytes apart
 *   TILE_DOT      TDPBUSD: sums + the products of pixels (unsigned) and weights (signed), modulo
 *                 2^32 */
#ifdef QN_AMX_MODEL
#include "amx_model.h"
#else
#define TILE_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(config)))
#define TILE_RELEASE() __asm__ volatile("tilerelease" ::)
#define TILE_LOAD(tile, from, stride)                    \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile  \
                     :                                   \
                     : "r"(from), "r"((int64_t)(stride)) \
                     : "memory")
#define TILE_STORE(tile, to, stride)                        \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" \
                     :                                      \
                     : "r"(to), "r"((int64_t)(stride))      \
                     : "memory")
#define TILE_DOT(sums, pixels, weights) \
    __asm__ volatile("tdpbusd %%tmm" #weights ", %%tmm" #pixels ", %%tmm" #sums::)
#endif

#endif
