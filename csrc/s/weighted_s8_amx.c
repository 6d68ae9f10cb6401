/* Layers with weights of the s8 API on AMX-INT8: 16384 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

#include "../gemm/amx.h"

#include "stage_avx512.h"

typedef int8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };

#include "../gemm/strips_avx512.h"

#include "../gemm/amx_tile.h"

#include "weighted_fast.h"

/* Each channel for itself is better off in strips. */
static int64_t scratch_in_tiles(const s_layer *l, int64_t image) {
    strips_shape strips;
    if (goes_in_strips(&l->image, &strips)) {
        return QN_NOT_TAKEN;
    }
    const gemm_shape shape = shape_of(&l->image);
    return tile_scratch(&shape, image);
}

int s_convolve_s8_amx(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_convolve(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_convolve_s8_mve(params, b) : layer_run(&layer, b);
}

int64_t s_convolve_s8_amx_scratch(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return scratch_in_tiles(&layer, convolve_scratch(params));
}

int64_t s_convolve_s8_amx_packed(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_packed(&layer);
}

void s_convolve_s8_amx_pack(const void *params, const void *weights, const void *bias,
                            void *packed) {
    const s_layer layer = layer_of_convolve(params, weights, bias);
    layer_pack(&layer, packed);
}

int s_fc_s8_amx(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_dense(params, b->weights, b->bias, 0);
    return layer_run(&layer, b);
}

int64_t s_fc_s8_amx_scratch(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return scratch_in_tiles(&layer, dense_scratch(params));
}

int64_t s_fc_s8_amx_packed(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return layer_packed(&layer);
}

void s_fc_s8_amx_pack(const void *params, const void *weights, const void *bias, void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 0);
    layer_pack(&layer, packed);
}

void s_fc_s8_amx_pack_per_channel(const void *params, const void *weights, const void *bias,
                                  void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 1);
    layer_pack(&layer, packed);
}

#include "../gemm/target_end.h"

#endif
