/* Layers with weights of the s8 API on AVX-VNNI: 32 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

#include "../gemm/avxvnni.h"

#include "stage_avx2.h"

typedef int8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
#define vec_dot vec_dot_u8_s8

#include "../gemm/strips_avxvnni.h"
#include "../gemm/tile.h"

#include "weighted_fast.h"

int s_convolve_s8_avxvnni(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_convolve(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_convolve_s8_mve(params, b) : layer_run(&layer, b);
}

int64_t s_convolve_s8_avxvnni_scratch(const void *params) { return convolve_scratch(params); }

int64_t s_convolve_s8_avxvnni_packed(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_packed(&layer);
}

void s_convolve_s8_avxvnni_pack(const void *params, const void *weights, const void *bias,
                                void *packed) {
    const s_layer layer = layer_of_convolve(params, weights, bias);
    layer_pack(&layer, packed);
}

int s_depthwise_s8_avxvnni(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_depthwise(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_depthwise_s8_mve(params, b) : layer_run(&layer, b);
}

int64_t s_depthwise_s8_avxvnni_scratch(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_scratch(&layer);
}

int64_t s_depthwise_s8_avxvnni_packed(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_packed(&layer);
}

void s_depthwise_s8_avxvnni_pack(const void *params, const void *weights, const void *bias,
                                 void *packed) {
    const s_layer layer = layer_of_depthwise(params, weights, bias);
    layer_pack(&layer, packed);
}

int s_fc_s8_avxvnni(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_dense(params, b->weights, b->bias, 0);
    return layer_run(&layer, b);
}

int64_t s_fc_s8_avxvnni_scratch(const void *params) { return dense_scratch(params); }

int64_t s_fc_s8_avxvnni_packed(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return layer_packed(&layer);
}

void s_fc_s8_avxvnni_pack(const void *params, const void *weights, const void *bias, void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 0);
    layer_pack(&layer, packed);
}

void s_fc_s8_avxvnni_pack_per_channel(const void *params, const void *weights, const void *bias,
                                      void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 1);
    layer_pack(&layer, packed);
}

#include "../gemm/target_end.h"

#endif
