/* LSTM of the s8 API on AVX2. */
#include "lstm.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

#include "../requantize_avx2.inc"
#include "../tables/activation_avx2.inc"

typedef int8_t data;
typedef int32_t bias_type;
enum { BYTES = 1 };

static inline __m256i requantized_gate(const epilogue_vector *v, __m256i sum) {
    return requantized_exactly(v, sum);
}

#include "lstm_fast.inc"

static void pack_gate_pair(const qn_s_lstm *p, int32_t multiplier, int32_t shift,
                           epilogue_vector *to) {
    set_exact(to, p->profile, multiplier, shift);
}

#include "lstm_pack.inc"

const qn_functions s_lstm_s8_avx2 = {lstm_run, lstm_scratch, lstm_packed, lstm_pack,
                                     qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
