/* Depthwise convolution on AVX-512 VNNI: four kernel rows an instruction. */
#include "depthwise.h"

#if QN_HAS_X86

#include "../gemm/target_avx512.h"

typedef __m512i vec;
typedef int8_t value;
enum { LANES = 16, ROWS = 4, OFFSET = 128 };

static inline vec load(const int32_t *lanes) { return _mm512_loadu_si512(lanes); }

/* Assembly keeps the sum in its register; gcc 12 moves that of the intrinsic to and fro. */
static inline vec dot(vec acc, vec values, vec weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(values), "v"(weights));
    return acc;
}

/* 64 values of a row, sorted so that the unpacking below, which works within quarters, leaves the
 * lanes in order. */
static inline vec row_values(const int8_t *row, int64_t at, __mmask64 some) {
    const vec transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    if (!row) {
        return _mm512_setzero_si512();
    }
    return _mm512_permutexvar_epi32(transposed, _mm512_maskz_loadu_epi8(some, row + at));
}

/* x + 128 as unsigned bytes: the sign bit turned over. */
static void interleave(const int8_t *const rows[ROWS], int64_t at, int32_t count, int32_t *lanes) {
    const vec offset = _mm512_set1_epi8(-OFFSET);
    for (int32_t i = 0; i < count; i += 64, at += 64, lanes += 64) {
        __mmask64 some = count - i < 64 ? ((__mmask64)1 << (count - i)) - 1 : ~(__mmask64)0;
        vec a = _mm512_xor_si512(row_values(rows[0], at, some), offset);
        vec b = _mm512_xor_si512(row_values(rows[1], at, some), offset);
        vec c = _mm512_xor_si512(row_values(rows[2], at, some), offset);
        vec d = _mm512_xor_si512(row_values(rows[3], at, some), offset);
        vec ab = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
        vec cd = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
        _mm512_storeu_si512(lanes, _mm512_unpacklo_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 16, _mm512_unpackhi_epi16(ab, cd));
        _mm512_storeu_si512(lanes + 32, _mm512_unpacklo_epi16(ab_high, cd_high));
        _mm512_storeu_si512(lanes + 48, _mm512_unpackhi_epi16(ab_high, cd_high));
    }
}

typedef struct stage {
    __m128i shift, least;
} stage;

static inline stage stage_of(const qn_conv *p) {
    return (stage){_mm_cvtsi32_si128(p->out_shift), _mm_set1_epi8(p->relu ? 0 : INT8_MIN)};
}

static inline void put(const stage *last, vec acc, int8_t *out, int32_t count) {
    __m128i result = _mm512_cvtsepi32_epi8(_mm512_sra_epi32(acc, last->shift));
    result = _mm_max_epi8(result, last->least);
    if (count == LANES) {
        _mm_storeu_si128((__m128i *)out, result);
    } else {
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << count) - 1u), result);
    }
}

#include "depthwise_fast.h"

int q_depthwise_q7_avx512(const void *params, const qn_buffers *b) {
    return run_depthwise(params, b);
}

int64_t q_depthwise_q7_avx512_strips(const void *params) { return strips_bytes(params); }

int64_t q_depthwise_q7_avx512_packed(const void *params) { return packed_bytes(params); }

void q_depthwise_q7_avx512_pack(const void *params, const void *weights, const void *bias,
                                void *packed) {
    pack_all(params, weights, bias, packed);
}

#include "../gemm/target_end.h"

#endif
