/* Layers with weights of the s8 API on AVX2: bytes widened to halfwords, 16 products an instruction. */
#include "affine.h"
#include "transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.h"

#include "../gemm/avx2.h"

#include "stage_avx2.h"

typedef int8_t input;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
#define vec_dot vec_dot_s16

static inline __m256i widened(__m128i bytes) { return _mm256_cvtepi8_epi16(bytes); }

#include "../gemm/strips_avx2.h"
#include "../gemm/tile.h"

#include "weighted_fast.h"

#include "transpose_conv_fast.h"

int s_convolve_s8_avx2(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_convolve(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_convolve_s8_mve(params, b) : layer_run(&layer, b);
}

int64_t s_convolve_s8_avx2_scratch(const void *params) { return convolve_scratch(params); }

int64_t s_convolve_s8_avx2_packed(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_packed(&layer);
}

void s_convolve_s8_avx2_pack(const void *params, const void *weights, const void *bias,
                             void *packed) {
    const s_layer layer = layer_of_convolve(params, weights, bias);
    layer_pack(&layer, packed);
}

int s_depthwise_s8_avx2(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_depthwise(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_depthwise_s8_mve(params, b) : layer_run(&layer, b);
}

int64_t s_depthwise_s8_avx2_scratch(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_scratch(&layer);
}

int64_t s_depthwise_s8_avx2_packed(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_packed(&layer);
}

void s_depthwise_s8_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    const s_layer layer = layer_of_depthwise(params, weights, bias);
    layer_pack(&layer, packed);
}

int s_fc_s8_avx2(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_dense(params, b->weights, b->bias, 0);
    return layer_run(&layer, b);
}

int64_t s_fc_s8_avx2_scratch(const void *params) { return dense_scratch(params); }

int64_t s_fc_s8_avx2_packed(const void *params) {
    const s_layer layer = layer_of_dense(params, NULL, NULL, 0);
    return layer_packed(&layer);
}

void s_fc_s8_avx2_pack(const void *params, const void *weights, const void *bias, void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 0);
    layer_pack(&layer, packed);
}

void s_fc_s8_avx2_pack_per_channel(const void *params, const void *weights, const void *bias,
                                   void *packed) {
    const s_layer layer = layer_of_dense(params, weights, bias, 1);
    layer_pack(&layer, packed);
}

/* Weights of 4 bits are bytes once they are packed. */
void s_convolve_s8_avx2_pack_s4(const void *params, const void *weights, const void *bias,
                                void *packed) {
    const s_layer layer = with_nibbles(layer_of_convolve(params, weights, bias));
    layer_pack(&layer, packed);
}

int s_depthwise_s4_avx2(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_depthwise(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_depthwise_s4_ref(params, b) : layer_run(&layer, b);
}

int64_t s_depthwise_s4_avx2_scratch(const void *params) { return depthwise_s4_scratch(params); }

int64_t s_depthwise_s4_avx2_packed(const void *params) {
    return s_depthwise_s8_avx2_packed(params);
}

void s_depthwise_s4_avx2_pack(const void *params, const void *weights, const void *bias,
                              void *packed) {
    const s_layer layer = with_nibbles(layer_of_depthwise(params, weights, bias));
    layer_pack(&layer, packed);
}

int64_t s_fc_s8_avx2_scratch_s4(const void *params) { return dense_s4_scratch(params); }

void s_fc_s8_avx2_pack_s4(const void *params, const void *weights, const void *bias, void *packed) {
    const s_layer layer = with_nibbles(layer_of_dense(params, weights, bias, 0));
    layer_pack(&layer, packed);
}

int s_transpose_conv_s8_avx2(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_transpose(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_transpose_conv_s8_ref(params, b) : transpose_run(params, &layer, b);
}

int64_t s_transpose_conv_s8_avx2_scratch(const void *params) { return transpose_scratch(params); }

int64_t s_transpose_conv_s8_avx2_packed(const void *params) { return transpose_packed(params); }

void s_transpose_conv_s8_avx2_pack(const void *params, const void *weights, const void *bias,
                                   void *packed) {
    const s_layer layer = layer_of_transpose(params, weights, bias);
    transpose_pack(params, &layer, packed);
}

#include "../gemm/target_end.h"

#endif
