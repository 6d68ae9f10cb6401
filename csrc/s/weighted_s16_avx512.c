/* Layers with weights of the s16 API on AVX-512 VNNI: 32 products an instruction. */
#include "affine.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

#include "../gemm/avx512vnni.h"

#include "stage_s16_avx512.h"

#define vec_dot vec_dot_s16

#include "../gemm/tile.h"

#include "wide_fast.h"

static inline vec vec_low_pairs(vec a, vec b) { return _mm512_unpacklo_epi16(a, b); }
static inline vec vec_high_pairs(vec a, vec b) { return _mm512_unpackhi_epi16(a, b); }

#include "depthwise_s16_fast.h"

int s_convolve_s16_avx512(const void *params, const qn_buffers *b) {
    const s_wide_layer layer = wide_convolve(params, b->weights, b->bias);
    return is_plain(b) ? s_convolve_s16_ref(params, b) : wide_layer_run(&layer, b);
}

int64_t s_convolve_s16_avx512_scratch(const void *params) {
    const s_wide_layer layer = wide_convolve(params, NULL, NULL);
    return wide_scratch(&layer);
}

int64_t s_convolve_s16_avx512_packed(const void *params) {
    const s_wide_layer layer = wide_convolve(params, NULL, NULL);
    return wide_packed(&layer);
}

void s_convolve_s16_avx512_pack(const void *params, const void *weights, const void *bias,
                                void *packed) {
    const s_wide_layer layer = wide_convolve(params, weights, bias);
    wide_pack(&layer, packed);
}

int s_depthwise_s16_avx512(const void *params, const qn_buffers *b) {
    const s_wide_layer layer = wide_depthwise(params, b->weights, b->bias);
    if (is_plain(b)) {
        return s_depthwise_s16_ref(params, b);
    }
    return goes_alone(&layer) ? each_run(&layer, b) : wide_layer_run(&layer, b);
}

int64_t s_depthwise_s16_avx512_scratch(const void *params) {
    const s_wide_layer layer = wide_depthwise(params, NULL, NULL);
    return goes_alone(&layer) ? each_scratch(&layer) : wide_scratch(&layer);
}

int64_t s_depthwise_s16_avx512_packed(const void *params) {
    const s_wide_layer layer = wide_depthwise(params, NULL, NULL);
    return goes_alone(&layer) ? each_packed(&layer) : wide_packed(&layer);
}

void s_depthwise_s16_avx512_pack(const void *params, const void *weights, const void *bias,
                                 void *packed) {
    const s_wide_layer layer = wide_depthwise(params, weights, bias);
    if (goes_alone(&layer)) {
        each_pack(&layer, packed);
    } else {
        wide_pack(&layer, packed);
    }
}

int s_fc_s16_avx512(const void *params, const qn_buffers *b) {
    const s_wide_layer layer = wide_dense(params, b->weights, b->bias);
    return is_plain(b) ? s_fully_connected_s16_ref(params, b) : wide_layer_run(&layer, b);
}

int64_t s_fc_s16_avx512_scratch(const void *params) {
    const s_wide_layer layer = wide_dense(params, NULL, NULL);
    return wide_scratch(&layer);
}

int64_t s_fc_s16_avx512_packed(const void *params) {
    const s_wide_layer layer = wide_dense(params, NULL, NULL);
    return wide_packed(&layer);
}

void s_fc_s16_avx512_pack(const void *params, const void *weights, const void *bias, void *packed) {
    const s_wide_layer layer = wide_dense(params, weights, bias);
    wide_pack(&layer, packed);
}

#include "../gemm/target_end.h"

#endif
