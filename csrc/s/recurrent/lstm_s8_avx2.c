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

static inline __m256i requantized_gate(const int32_t *rows, __m256i sum, int single) {
    return single ? requantized_single(rows, sum) : requantized_double(rows, sum);
}

#include "lstm_fast.inc"

static void pack_gate_pair(const qn_s_lstm *p, int32_t multiplier, int32_t shift, int32_t *rows) {
    pack_exact_pair(p, multiplier, shift, rows);
}

#include "lstm_pack.inc"

int s_lstm_s8_avx2(const void *params, const qn_buffers *b) { return lstm_run(params, b); }

int64_t s_lstm_s8_avx2_scratch(const void *params) { return lstm_scratch(params); }

int64_t s_lstm_s8_avx2_packed(const void *params) { return lstm_packed(params); }

void s_lstm_s8_avx2_pack(const void *params, const void *weights, const void *bias, void *packed) {
    lstm_pack(params, weights, bias, packed);
}

#include "../../gemm/target_end.inc"

#endif
