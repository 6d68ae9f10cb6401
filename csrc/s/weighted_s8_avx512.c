/* Layers with weights of the s8 API on AVX-512 VNNI: 64 products an instruction. */
#include "affine.h"
#include "convolve/transpose_conv.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#define HALVES 1
#include "../gemm/avx512vnni.inc"

#include "epilogue_avx512.inc"

typedef int8_t input;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
#define vec_dot vec_dot_u8_s8

#define ROW(layer, part) s_##layer##_avx512##part

#include "../gemm/strips_avx512.inc"
#include "../gemm/tile.inc"

#include "weighted_fast.inc"

#include "convolve/transpose_conv_fast.inc"
#include "weighted_vector_rows.inc"

/* Plain rows compute sums in lanes. */
static int32_t layer_traits(const s_layer *l) {
    const int32_t profile = l->last.profile;
    const int lanes = qn_path(profile) == QN_PATH_MVE && qn_rounding(profile) == QN_SINGLE;
    const int32_t turned = QN_TURNED_OUT | (reads_turned(l) ? QN_TURNED_IN : 0);
    return QN_PAYS | (lanes ? 0 : turned);
}

int32_t ROW(convolve_s8, _traits)(const void *params) {
    const s_layer layer = layer_of_convolve(params, NULL, NULL);
    return layer_traits(&layer);
}

int32_t ROW(depthwise_s8, _traits)(const void *params) {
    const s_layer layer = layer_of_depthwise(params, NULL, NULL);
    return layer_traits(&layer);
}

int32_t ROW(depthwise_s4, _traits)(const void *params) {
    return ROW(depthwise_s8, _traits)(params);
}

#include "../gemm/target_end.inc"

#endif
