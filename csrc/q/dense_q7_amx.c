/* q7 convolutions on AMX-INT8: bytes, 16384 products an instruction. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

#include "../gemm/amx.h"

#include "stage_q7_avx512.h"

typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };

#include "../gemm/amx_tile.h"

#include "convolve_fast.h"

static int64_t scratch_in_tiles(const qn_conv *p, int64_t image) {
    const gemm_shape shape = shape_of(p);
    return tile_scratch(&shape, image);
}

int q_convolve_q7_amx(const void *params, const qn_buffers *b) { return convolve(params, b); }

int64_t q_convolve_q7_amx_padded(const void *params) {
    return scratch_in_tiles(params, scratch_padded(params));
}

int64_t q_convolve_q7_amx_regular(const void *params) {
    return scratch_in_tiles(params, scratch_regular(params));
}

int64_t q_convolve_q7_amx_packed(const void *params) { return packed_bytes(params); }

void q_convolve_q7_amx_pack(const void *params, const void *weights, const void *bias,
                            void *packed) {
    pack_convolution(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
