/* q7 convolutions on AMX-INT8: bytes, 16384 products an instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/amx.inc"

#include "epilogue_q7_avx512.inc"

typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };

#define TILE_DOT TILE_DOT_S8
#define ROW(layer, part) q_##layer##_q7_amx##part

#include "../gemm/amx_tile.inc"

#include "convolve_fast.inc"

static int64_t scratch_in_tiles(const qn_conv *p, int64_t image) {
    const gemm_shape shape = convolve_shape(p);
    return tile_scratch(&shape, image);
}

int64_t ROW(convolve, _padded)(const void *params) {
    return scratch_in_tiles(params, scratch_padded(params));
}

int64_t ROW(convolve, _regular)(const void *params) {
    return scratch_in_tiles(params, scratch_regular(params));
}

int32_t ROW(convolve, _traits)(const void *params) {
    const gemm_shape shape = convolve_shape(params);
    return tile_traits(&shape, (tile_costs){.put = 44, .vector = 5, .joins = 1});
}

#include "../gemm/target_end.inc"

#endif
