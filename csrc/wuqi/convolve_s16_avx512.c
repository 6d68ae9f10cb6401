/* Convolutions of 16 bits on AVX-512 VNNI. */
#include "convolve.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.inc"

#include "../gemm/avx512vnni.inc"

#include "sums_avx512.inc"

#include "convolve_s16_fast.inc"

/* With few channels and small images, the AVX2 row is faster. */
enum { MANY_CHANNELS = 8, MANY_PRODUCTS = 768 };

static int32_t convolve_traits(const void *params) {
    const qn_npu_conv *p = params;
    const int64_t products = n_convolve_row(p) * p->out_h * p->out_w;
    return is_depthwise(p) || p->out_c / p->group > MANY_CHANNELS || products >= MANY_PRODUCTS;
}

const qn_functions n_convolve_s16_avx512 = {convolve_run, convolve_scratch, convolve_packed,
                                            convolve_pack, convolve_traits};

#include "../gemm/target_end.inc"

#endif
