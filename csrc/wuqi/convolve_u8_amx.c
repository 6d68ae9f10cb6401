/* Convolutions of unsigned images of 8 bits on AMX-INT8: 16384 products per instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/amx.inc"

#include "epilogue_avx512.inc"

typedef uint8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0, LOWEST = 0, HIGHEST = UINT8_MAX };
#define TILE_DOT TILE_DOT_U8
#define plain n_convolve_u8_ref

static const gemm_traits traits = {
    .most_vectors = 2, .split_k = 1, .in_place = 4, .no_depthwise = 1};

#include "../gemm/depthwise_avx512.inc"

#include "../gemm/amx_tile.inc"

#include "convolve_tiles.inc"

const qn_functions n_convolve_u8_amx = {convolve_run, tiles_scratch, convolve_packed, convolve_pack,
                                        tiles_traits};

#include "../gemm/target_end.inc"

#endif
