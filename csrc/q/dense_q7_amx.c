/* q7 convolutions on AMX-INT8: bytes, 16384 products per instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/amx.inc"

#include "epilogue_q7_avx512.inc"

typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };

#define TILE_DOT TILE_DOT_S8

static const gemm_traits traits = {.most_vectors = 2, .split_k = 1, .in_place = 4};

#include "../gemm/amx_tile.inc"

#include "convolve_fast.inc"

static int64_t scratch_in_tiles(const qn_conv *p, int64_t image) {
    const gemm_shape shape = convolve_shape(p);
    return tile_scratch(&shape, image);
}

static int64_t scratch_padded_tiles(const void *params) {
    return scratch_in_tiles(params, scratch_padded(params));
}

static int64_t scratch_regular_tiles(const void *params) {
    return scratch_in_tiles(params, scratch_regular(params));
}

static int32_t convolve_traits(const void *params) {
    const gemm_shape shape = convolve_shape(params);
    return tile_traits(&shape, (tile_costs){.put = 44, .vector = 5, .joins = 1});
}

const qn_functions q_convolve_q7_amx = {convolve_run, scratch_padded_tiles, convolve_packed,
                                        convolve_pack, convolve_traits};

const qn_functions q_convolve_fast_q7_amx = {convolve_run, scratch_regular_tiles, convolve_packed,
                                             convolve_pack, convolve_traits};

#include "../gemm/target_end.inc"

#endif
