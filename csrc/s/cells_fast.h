/* Sums of cells over all of their channels, a block of them at a time, in loops that compilers turn into
 * vectors. Included between a target_*.h and target_end.h, after
 *   element, partial   of an image; what holds sums of MOST_CELLS of them, at least */
#ifndef QN_S_CELLS_FAST_H
#define QN_S_CELLS_FAST_H

#include "../gemm/unroll.h"

enum { BLOCK = 64 }; /* channels summed side by side */

QN_INLINE void add_some(const element *cells, int64_t step, int64_t n, int32_t *sums,
                        const int count) {
    partial part[BLOCK] = {0};
    for (int64_t i = 0; i < n; i++, cells += step) {
        for (int c = 0; c < count; c++) {
            part[c] = (partial)(part[c] + cells[c]);
        }
    }
    for (int c = 0; c < count; c++) {
        sums[c] += part[c];
    }
}

/* sums[c] += n cells, which are `step` elements apart, of 1 to BLOCK channels. */
static void add_cells(const element *cells, int64_t step, int64_t n, int32_t *sums, int count) {
    while (n > 0) {
        const int64_t some = n < MOST_CELLS ? n : MOST_CELLS;
        if (count == BLOCK) {
            add_some(cells, step, some, sums, BLOCK);
        } else if (count == BLOCK / 2) {
            add_some(cells, step, some, sums, BLOCK / 2);
        } else if (count == BLOCK / 4) {
            add_some(cells, step, some, sums, BLOCK / 4);
        } else {
            add_some(cells, step, some, sums, count);
        }
        cells += some * step;
        n -= some;
    }
}

#endif
