/* q7 convolutions and fully connected layers on AVX2: bytes widened to halfwords, 16 products an
 * instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avx2.inc"

#include "epilogue_q7_avx2.inc"

typedef int8_t coefficient;
typedef int16_t pixel;
typedef int16_t weight;
enum { PER_STEP = 2, OFFSET = 0 };
#define vec_dot vec_dot_s16
#define NARROWS 1
#define OPT_ORDER Q_FC_Q7

#define ROW(layer, part) q_##layer##_q7_avx2##part

#include "../gemm/tile.inc"

#include "convolve_fast.inc"
#include "fully_connected_fast.inc"

int64_t ROW(convolve, _padded)(const void *params) { return scratch_padded(params); }

int64_t ROW(convolve, _regular)(const void *params) { return scratch_regular(params); }

#include "../gemm/target_end.inc"

#endif
