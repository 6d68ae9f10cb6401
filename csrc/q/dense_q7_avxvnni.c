/* q7 convolutions and fully connected layers on AVX-VNNI: bytes, 32 products an instruction. */
#include "convolve.h"
#include "fully_connected.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/avxvnni.inc"

#include "epilogue_q7_avx2.inc"

typedef int8_t coefficient;
typedef uint8_t pixel;
typedef int8_t weight;
enum { PER_STEP = 4, OFFSET = 128 };
#define vec_dot vec_dot_u8_s8
#define OPT_ORDER Q_FC_Q7

#define ROW(layer, part) q_##layer##_q7_avxvnni##part

#include "../gemm/tile.inc"

#include "convolve_fast.inc"
#include "fully_connected_fast.inc"

int64_t ROW(convolve, _padded)(const void *params) { return scratch_padded(params); }

int64_t ROW(convolve, _regular)(const void *params) { return scratch_regular(params); }

#include "../gemm/target_end.inc"

#endif
