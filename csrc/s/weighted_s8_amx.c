/* Layers with weights of the s8 API on AMX-INT8: 16384 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/amx.inc"

#include "epilogue_avx512.inc"

typedef int8_t input;
typedef int8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 0 };

#define TILE_DOT TILE_DOT_S8

static const gemm_traits traits = {
    .most_vectors = 2, .split_k = 1, .in_place = 4, .no_depthwise = 1};

#include "../gemm/depthwise_avx512.inc"

#include "../gemm/amx_tile.inc"

#include "weighted_fast.inc"

#include "weighted_s8_rows.inc"

/* Depthwise layers are faster on the depthwise engine. */
static int64_t scratch_in_tiles(const s_layer *l, int64_t image) {
    depthwise_shape depthwise;
    if (uses_depthwise_engine(&l->image, &depthwise)) {
        return QN_NOT_TAKEN;
    }
    const gemm_shape shape = shape_of(&l->image);
    return tile_scratch(&shape, image);
}

static int64_t convolve_tiles_scratch(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return scratch_in_tiles(&layer, convolve_s8_scratch(params));
}

static int64_t fc_tiles_scratch(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return scratch_in_tiles(&layer, fc_s8_scratch(params));
}

static int32_t layer_traits(const s_layer *l) {
    const gemm_shape shape = shape_of(&l->image);
    const int rectified =
        l->epilogue.output_offset == INT8_MIN; /* which may be linear, see linear.h */
    return tile_traits(&shape, rectified ? (tile_costs){.put = 84, .vector = 6, .joins = 1}
                                         : (tile_costs){.put = 170, .vector = 10, .joins = 1});
}

static int32_t convolve_s8_traits(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_traits(&layer);
}

static int32_t fc_s8_traits(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return layer_traits(&layer);
}

const qn_functions s_convolve_s8_amx = {convolve_s8_run, convolve_tiles_scratch, convolve_s8_packed,
                                        convolve_s8_pack, convolve_s8_traits};

const qn_functions s_fc_s8_amx = {fc_s8_run, fc_tiles_scratch, fc_s8_packed, fc_s8_pack,
                                  fc_s8_traits};

const qn_functions s_fc_per_channel_s8_amx = {fc_s8_run, fc_tiles_scratch, fc_s8_packed,
                                              fc_per_channel_s8_pack, fc_s8_traits};

#include "../gemm/target_end.inc"

#endif
