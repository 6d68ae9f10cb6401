/* Traits of an engine: what differs between instruction sets and arithmetics in code that all
 * engines share.
 *
 * Each engine defines `static const gemm_traits traits` before it includes the engine. Its code
 * asks with plain `if`s: the compiler folds them, and removes what an engine never runs. */
#ifndef QN_GEMM_TRAITS_H
#define QN_GEMM_TRAITS_H

/* Constants of one engine.
 *   most_vectors     vectors of channels in one micro-tile at most: 1, 2 or 4
 *   split_k          steps that the engine reads at a time at most, 1 if there is no split-K: runs
 *                    of an image that is read in place have a multiple
 *   narrow_weights   weights are halfwords that fit bytes, and GEMV reads them from bytes
 *   packs_pixels     neighbouring pixels may share a vector, see pixel_packing.inc
 *   in_place         an image without padding is read in place where a pixel has a multiple of so
 *                    many elements; 0: never
 *   no_depthwise     depthwise layers are left to another row */
typedef struct gemm_traits {
    int most_vectors, split_k, narrow_weights, packs_pixels, in_place, no_depthwise;
} gemm_traits;

#endif
