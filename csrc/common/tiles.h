/* The tiles of AMX as a thread has them configured. To configure them takes as long as ten
 * products; so rows leave them as they are, and whoever ran rows releases them when the run ends.
 * */
#ifndef QN_TILES_H
#define QN_TILES_H

#include <stdint.h>
#include <string.h>

#include "profiles.h"

/* Operand of LDTILECFG. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

#ifdef QN_AMX_MODEL
#include "amx_model.h"
#elif QN_HAS_X86
#define TILE_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(config)))
#define TILE_CONFIGURED(config) __asm__ volatile("sttilecfg %0" : "=m"(*(config)))
#define TILE_RELEASE() __asm__ volatile("tilerelease" ::)
#else
#define TILE_RELEASE()
#endif

/* used: may tiles be configured? Without AMX there is no such instruction. */
static inline void qn_release_tiles(int used) {
    if (used) {
        TILE_RELEASE();
    }
}

#endif
