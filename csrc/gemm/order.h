/* The order of channels in vectors, and of pixels in tiles. Included after LANES and MOST_VECTORS. */
#ifndef QN_GEMM_ORDER_H
#define QN_GEMM_ORDER_H

#include <stdint.h>

/* Vectors of channels side by side in one pass: 4 while there are as many, then 2, then 1. */
static inline int gemm_group(int64_t vectors_left) {
    return vectors_left >= 4 && MOST_VECTORS >= 4 ? 4 : vectors_left >= 2 ? 2 : 1;
}

/* The channel, in its group, of a lane of one of the group's vectors: such that saturating packs,
 * which work on quarters of a vector, leave the channels in order. */
static inline int gemm_channel(int group, int v, int lane) {
    return lane / 4 * 4 * group + 4 * v + lane % 4;
}

/* Pixels of the next tile, of 1, 2, 4, 8 and `most`: as few tiles as possible, of equal size, the
 * last of which may overlap the one before. */
static inline int tile_size(int most, int32_t left, int32_t columns) {
    if (left / 2 >= most) {
        return most; /* as below, without its division */
    }
    int32_t count = (left + most - 1) / most, share = (left + count - 1) / count;
    int size = share > 8 ? most : share > 4 ? 8 : share > 2 ? 4 : (int)share;
    size = size < most ? size : most;
    while (size > columns) {
        size = size > 8 ? 8 : size > 4 ? 4 : size / 2;
    }
    return size;
}

#endif
