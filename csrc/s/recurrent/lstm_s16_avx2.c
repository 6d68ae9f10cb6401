/* LSTM of the s16 API on AVX2. Where a sum, with its bias, may leave 32 bits, as the weights tell
 * at plan time, the plain row has the call. */
#include "lstm.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

#include "../requantize_avx2.inc"
#include "../tables/activation_avx2.inc"

typedef int16_t data;
typedef int64_t bias_type;
enum { BYTES = 2 };

static inline __m256i requantized_gate(const epilogue_vector *v, __m256i sum) {
    return requantized_wide(&v->wide, sum);
}

#include "lstm_fast.inc"

static void pack_gate_pair(const qn_s_lstm *p, int32_t multiplier, int32_t shift,
                           epilogue_vector *to) {
    const channel_numbers numbers = wide_numbers_of(multiplier, shift);
    (void)p;
    set_all_lanes(to, &numbers);
}

#include "lstm_pack.inc"

static int lstm_s16_run(const void *params, const qn_buffers *b) {
    const int plain = *(const int32_t *)b->packed;
    return plain ? s_lstm_s16_ref(params, b) : lstm_run(params, b);
}

const qn_functions s_lstm_s16_avx2 = {lstm_s16_run, lstm_scratch, lstm_packed, lstm_pack,
                                      qn_always_pays};

#include "../../gemm/target_end.inc"

#endif
