/* Functions of one byte as tables of what the plain row makes of every byte: of `width` bytes each, and
 * behind them what instructions that look up sixteen entries want (table_avx2.c). */
#ifndef QN_S_TABLE_H
#define QN_S_TABLE_H

#include "../affine.h"

enum { ENTRIES = 256, SIXTEENTH = 16 };

static inline const uint8_t *s_steps_of(const qn_buffers *b, int width) {
    return (const uint8_t *)b->packed + width * ENTRIES;
}

#endif
