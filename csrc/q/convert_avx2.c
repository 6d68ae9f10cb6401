/* Conversions from q7 to q15 on AVX2. */
#include "convert.h"

#if QN_HAS_X86

#include "../gemm/target_avx2.inc"

#include "../gemm/each_avx2.inc"

/* The source of each of the four values of a group: 0 1 2 3, or 0 2 1 3 as on the DSP path. */
enum { IN_ORDER = 0x03020100, REORDERED = 0x03010200 };

/* Widen 16 values, or as many as `available` bytes allow, and add `more`. */
QN_INLINE void widen_16(const char *in, int64_t available, __m128i from, __m256i more, char *out) {
    __m256i words = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(load_16(in, available), from));
    store_32(out, 2 * available, _mm256_add_epi16(words, more));
}

static void widen(const char *in, int64_t count, int32_t order, int32_t offset, char *out) {
    const __m128i groups = _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c);
    const __m128i from = _mm_add_epi8(groups, _mm_set1_epi32(order));
    const __m256i more = _mm256_set1_epi16((short)offset);
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        widen_16(in + i, 16, from, more, out + 2 * i);
    }
    if (i < count) {
        widen_16(in + i, count - i, from, more, out + 2 * i);
    }
}

/* Widen and reorder whole groups of four. The values after the last group stay in order. */
static void widen_groups(const char *in, int64_t count, int32_t offset, char *out) {
    int64_t whole = count / 4 * 4;
    widen(in, whole, REORDERED, offset, out);
    widen(in + whole, count - whole, IN_ORDER, offset, out + 2 * whole);
}

int q_expand_q7_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    widen(b->in[0], p->length, IN_ORDER, 0, b->out);
    return QN_OK;
}

int q_expand_reordered_q7_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    widen_groups(b->in[0], p->length, 0, b->out);
    return QN_OK;
}

int q_expand_offset_q7_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    widen(b->in[0], p->length, IN_ORDER, p->offset, b->out);
    return QN_OK;
}

int q_expand_reordered_offset_q7_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_offset *p = params;
    widen_groups(b->in[0], p->length, p->offset, b->out);
    return QN_OK;
}

QN_INLINE void accumulate_16(const char *in, const char *before, int64_t available, int saturates,
                             char *out) {
    __m256i words = _mm256_cvtepi8_epi16(load_16(in, available)),
            sums = load_32(before, 2 * available);
    sums = saturates ? _mm256_adds_epi16(sums, words) : _mm256_add_epi16(sums, words);
    store_32(out, 2 * available, sums);
}

QN_INLINE void accumulate(const char *in, const char *before, int64_t count, int saturates,
                          char *out) {
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        accumulate_16(in + i, before + 2 * i, 16, saturates, out + 2 * i);
    }
    if (i < count) {
        accumulate_16(in + i, before + 2 * i, count - i, saturates, out + 2 * i);
    }
}

/* On the DSP path whole groups of four saturate, the sums after the last group wrap. */
int q_accumulate_q7_q15_avx2(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const char *in = b->in[0], *before = b->in[1];
    char *out = b->out;
    int64_t whole = qn_is_dsp(p->profile) ? p->length / 4 * 4 : 0;
    accumulate(in, before, whole, 1, out);
    accumulate(in + whole, before + 2 * whole, p->length - whole, 0, out + 2 * whole);
    return QN_OK;
}

#include "../gemm/target_end.inc"

#endif
