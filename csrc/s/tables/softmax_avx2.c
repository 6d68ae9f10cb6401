/* Softmax of 8-bit rows on AVX2: e(d) of all 256 differences is made once, at plan time. Where
 * Arm's functions shift by 32 or more, the plain row has the row. */
#include "softmax.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

#include "../../gemm/edge_avx2.inc"

/* By most - in, 0..255: e(d) in Q0.31, 0 where d < diff_min, and RDP(e(d), 12). */
enum { DIFFERENCES = 256, LONG_ROW = 96 };
typedef struct powers {
    int32_t e[DIFFERENCES], part[DIFFERENCES];
} powers;

/* A row: its bytes, turned into signed ones by `turn`. */
typedef struct row {
    const uint8_t *in;
    int32_t size, most, turn;
} row;

static inline int32_t difference(const row *r, int32_t i) {
    return r->most - qn_wrap8(r->in[i] ^ r->turn);
}

static row row_of(const uint8_t *in, int32_t size, int32_t turn) {
    int8_t most = INT8_MIN;
    for (int32_t i = 0; i < size; i++) {
        const int8_t x = qn_wrap8(in[i] ^ turn);
        most = x > most ? x : most;
    }
    return (row){in, size, most, turn};
}

/* At most 4095 * 2^19. */
static int32_t sum_of(const row *r, const powers *table) {
    int32_t sum = 0;
    for (int32_t i = 0; i < r->size; i++) {
        sum += table->part[difference(r, i)];
    }
    return sum;
}

/* Divisor of a row. */
typedef struct division {
    __m256i reciprocal, nudge, lowest;
    __m128i shift;
} division;

/* RDP(HM(reciprocal, e), shift) of 8 elements above the lowest output, 16 bits, saturated. Nothing
 * is negative and no sum reaches 2^32, as the shift is 1..31. */
static inline __m128i outputs(const division *by, __m256i e) {
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    __m256i even = _mm256_mul_epi32(e, by->reciprocal);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(e, 32), by->reciprocal);
    even = _mm256_srli_epi64(_mm256_add_epi64(even, half), 31);
    odd = _mm256_slli_epi64(_mm256_srli_epi64(_mm256_add_epi64(odd, half), 31), 32);
    const __m256i nudged = _mm256_add_epi32(_mm256_blend_epi32(even, odd, 0xaa), by->nudge);
    const __m256i value = _mm256_add_epi32(_mm256_srl_epi32(nudged, by->shift), by->lowest);
    return _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
}

/* lowest: output of nothing, -128 or 0 of 8 bits, -32768 of 16. */
static inline void put_8(void *out, int32_t i, int32_t left, __m128i values, int32_t lowest) {
    if (lowest == INT16_MIN) {
        store_16((int16_t *)out + i, 2 * (int64_t)left, values);
    } else if (lowest == INT8_MIN) {
        store_8((int8_t *)out + i, left, _mm_packs_epi16(values, values));
    } else {
        store_8((uint8_t *)out + i, left, _mm_packus_epi16(values, values));
    }
}

/* Outputs of a long row: the outputs of all differences, from which elements pick theirs. */
static inline void pick(const row *r, const powers *table, const division *by, void *out,
                        int32_t lowest) {
    int16_t values[DIFFERENCES];
    for (int32_t d = 0; d < DIFFERENCES; d += 8) {
        const __m256i e = _mm256_loadu_si256((const __m256i *)(table->e + d));
        put_8(values, d, 8, outputs(by, e), lowest);
    }
    for (int32_t i = 0; i < r->size; i++) {
        const int32_t d = difference(r, i);
        if (lowest == INT16_MIN) {
            ((int16_t *)out)[i] = values[d];
        } else {
            ((int8_t *)out)[i] = ((const int8_t *)values)[d];
        }
    }
}

static inline void each(const row *r, const powers *table, const division *by, void *out,
                        int32_t lowest) {
    for (int32_t i = 0; i < r->size; i += 8) {
        int32_t e[8];
        for (int32_t k = 0; k < 8; k++) {
            e[k] = table->e[i + k < r->size ? difference(r, i + k) : 0];
        }
        const __m256i powers_of_8 = _mm256_loadu_si256((const __m256i *)e);
        put_8(out, i, r->size - i, outputs(by, powers_of_8), lowest);
    }
}

/* One row; 0: its division is the plain row's. base: 35 to 8 bits, 27 to 16. */
static inline int softmax_row(const row *r, const powers *table, void *out, int base,
                              int32_t lowest) {
    const int32_t sum = sum_of(r, table);
    const int headroom = sum > 0 ? __builtin_clz((uint32_t)sum) : 0,
              n = sum > 0 ? base - headroom : 1;
    if (n < 1 || n > 31) {
        return 0;
    }
    const int32_t reciprocal =
        sum > 0 ? qn_reciprocal(qn_sub32(qn_wrap32(qn_shl(sum, headroom)), INT32_MIN)) : 0;
    const division by = {_mm256_set1_epi32(reciprocal),
                         _mm256_set1_epi32((int32_t)qn_shl(1, n - 1)), _mm256_set1_epi32(lowest),
                         _mm_cvtsi32_si128(n)};
    if (r->size > LONG_ROW) {
        pick(r, table, &by, out, lowest);
    } else {
        each(r, table, &by, out, lowest);
    }
    return 1;
}

typedef int plain_row(const void *params, const qn_buffers *b);

static inline int softmax(const qn_s_softmax *p, const qn_buffers *b, int32_t turn, int32_t lowest,
                          plain_row *plain) {
    const int wide = lowest == INT16_MIN;
    uint8_t *in = b->in[0];
    char *out = b->out;
    for (int32_t n = 0; n < p->num_rows; n++) {
        const row r = row_of(in, p->row_size, turn);
        if (!softmax_row(&r, b->packed, out, wide ? 27 : 35, lowest)) {
            qn_s_softmax alone = *p;
            alone.num_rows = 1;
            const qn_buffers of_row = {.in = {in}, .out = out};
            (void)plain(&alone, &of_row);
        }
        in += p->row_size;
        out += (int64_t)p->row_size * (wide ? 2 : 1);
    }
    return QN_OK;
}

static int softmax_s8_run(const void *params, const qn_buffers *b) {
    const qn_s_softmax *p = params;
    const int helium = qn_path(p->profile) == QN_PATH_MVE;
    return softmax(p, b, 0, INT8_MIN, helium ? s_softmax_s8_mve : s_softmax_s8_ref);
}

static int softmax_s8_s16_run(const void *params, const qn_buffers *b) {
    return softmax(params, b, 0, INT16_MIN, s_softmax_s8_s16_ref);
}

static int softmax_u8_run(const void *params, const qn_buffers *b) {
    return softmax(params, b, 128, 0, s_softmax_u8_ref);
}

static int64_t softmax_packed(const void *params) {
    (void)params;
    return sizeof(powers);
}

#include "../../gemm/target_end.inc"

static void softmax_pack(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    const qn_s_softmax *p = params;
    powers *table = packed;
    for (int32_t d = 0; d < DIFFERENCES; d++) {
        const int32_t scaled = qn_hm(qn_wrap32(qn_shl(-d, p->shift)), p->mult);
        table->e[d] = -d < p->diff_min ? 0 : qn_exp_negative(scaled, 5);
        table->part[d] = qn_rdp(table->e[d], 12);
    }
}

const qn_functions s_softmax_s8_avx2 = {softmax_s8_run, qn_no_scratch, softmax_packed, softmax_pack,
                                        qn_always_pays};

const qn_functions s_softmax_s8_s16_avx2 = {softmax_s8_s16_run, qn_no_scratch, softmax_packed,
                                            softmax_pack, qn_always_pays};

const qn_functions s_softmax_u8_avx2 = {softmax_u8_run, qn_no_scratch, softmax_packed, softmax_pack,
                                        qn_always_pays};

#endif
