/* Functions of one byte, as tables, looked up 64 bytes at a time.
 *
 * VPSHUFB looks up 16 entries by the low half of a byte, and answers 0 where its top bit is set.
 * Bytes 0..127 go through eight such tables, each time less 16, saturated: byte x meets tables
 * 0..x/16 and then stays negative. So table k holds what changes from entries 16k-16.. to 16k.., by
 * XOR. Bytes 128..255 do the same with their top bit turned. */
#include "table.h"

#if QN_HAS_X86

#include <string.h>

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

static inline void look_up_half(const uint8_t *steps, __m256i x[2], __m256i found[2]) {
    for (int k = 0; k < ENTRIES / 2; k += SIXTEENTH) {
        const __m256i sixteen = _mm256_set1_epi8(SIXTEENTH);
        const __m128i low = _mm_loadu_si128((const __m128i *)(steps + k));
        const __m256i step = _mm256_broadcastsi128_si256(low);
        for (int i = 0; i < 2; i++) {
            found[i] = _mm256_xor_si256(found[i], _mm256_shuffle_epi8(step, x[i]));
            x[i] = _mm256_subs_epi8(x[i], sixteen);
        }
    }
}

static inline void look_up(const uint8_t *steps, const __m256i bytes[2], __m256i found[2]) {
    const __m256i top = _mm256_set1_epi8(INT8_MIN);
    __m256i low[2] = {bytes[0], bytes[1]};
    __m256i high[2] = {_mm256_xor_si256(bytes[0], top), _mm256_xor_si256(bytes[1], top)};
    found[0] = found[1] = _mm256_setzero_si256();
    look_up_half(steps, low, found);
    look_up_half(steps + ENTRIES / 2, high, found);
}

/* In place or not. */
static int run_bytes(const qn_buffers *b, int64_t length) {
    const uint8_t *in = b->in[0], *steps = s_steps_of(b, 1);
    uint8_t *out = b->out;
    for (int64_t i = 0; i < length; i += 64) {
        const int64_t left = length - i, more = left > 32 ? left - 32 : 0;
        const __m256i bytes[2] = {load_32(in + i, left),
                                  more ? load_32(in + i + 32, more) : _mm256_setzero_si256()};
        __m256i found[2];
        look_up(steps, bytes, found);
        store_32(out + i, left, found[0]);
        if (more) {
            store_32(out + i + 32, more, found[1]);
        }
    }
    return QN_OK;
}

/* 32 bytes to halfwords, by a table of the low bytes and one of the high ones. */
static int run_halfwords(const qn_buffers *b, int64_t length) {
    const uint8_t *in = b->in[0], *steps = s_steps_of(b, 2);
    int16_t *out = b->out;
    for (int64_t i = 0; i < length; i += 32) {
        const int64_t available = 2 * (length - i);
        /* bytes 0..7 and 16..23 stand where unpacking leaves their halfwords in order */
        const __m256i apart = _mm256_permute4x64_epi64(load_32(in + i, length - i), 0xd8);
        __m256i bytes[2] = {apart, apart}, low[2], high[2];
        look_up(steps, bytes, low);
        look_up(steps + ENTRIES, bytes, high);
        store_32(out + i, available, _mm256_unpacklo_epi8(low[0], high[0]));
        if (available > 32) {
            store_32(out + i + 16, available - 32, _mm256_unpackhi_epi8(low[0], high[0]));
        }
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

static int requantize_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_requantize *)params)->length);
}

static int requantize_wide_run(const void *params, const qn_buffers *b) {
    return run_halfwords(b, ((const qn_s_requantize *)params)->length);
}

static int leaky_relu_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_leaky_relu *)params)->length);
}

static int rescale_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_rescale *)params)->length);
}

static int logistic_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_logistic *)params)->length);
}

static int lookup_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_vector *)params)->length);
}

static int dl_requantize_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_dl_vector *)params)->block_size);
}

static int dl_curve_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_dl_curve *)params)->block_size);
}

const qn_functions s_requantize_s8_s8_avx2 = {requantize_run, qn_no_scratch, s_table_packed,
                                              s_requantize_s8_s8_table, qn_always_pays};

const qn_functions s_requantize_s8_u8_avx2 = {requantize_run, qn_no_scratch, s_table_packed,
                                              s_requantize_s8_u8_table, qn_always_pays};

const qn_functions s_requantize_u8_s8_avx2 = {requantize_run, qn_no_scratch, s_table_packed,
                                              s_requantize_u8_s8_table, qn_always_pays};

const qn_functions s_requantize_s8_s16_avx2 = {requantize_wide_run, qn_no_scratch,
                                               s_table_wide_packed, s_requantize_s8_s16_table,
                                               qn_always_pays};

const qn_functions s_leaky_relu_s8_avx2 = {leaky_relu_run, qn_no_scratch, s_table_packed,
                                           s_leaky_relu_s8_table, qn_always_pays};

const qn_functions s_rescale_u8_avx2 = {rescale_run, qn_no_scratch, s_table_packed,
                                        s_rescale_u8_table, qn_always_pays};

const qn_functions s_logistic_s8_avx2 = {logistic_run, qn_no_scratch, s_table_packed,
                                         s_logistic_s8_table, qn_always_pays};

const qn_functions s_tanh_s8_avx2 = {logistic_run, qn_no_scratch, s_table_packed, s_tanh_s8_table,
                                     qn_always_pays};

const qn_functions s_lookup_s8_avx2 = {lookup_run, qn_no_scratch, s_table_packed, s_lookup_s8_table,
                                       qn_always_pays};

const qn_functions s_dl_requantize_s8_avx2 = {dl_requantize_run, qn_no_scratch, s_table_packed,
                                              s_dl_requantize_s8_table, qn_always_pays};

const qn_functions s_dl_curve_s8_avx2 = {dl_curve_run, qn_no_scratch, s_table_packed,
                                         s_dl_curve_s8_table, qn_always_pays};

#endif
