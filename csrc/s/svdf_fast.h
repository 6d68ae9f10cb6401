/* SVDF on AVX2: features of eight filters at a time; the state moves on as a whole; each unit's sum over
 * time is one of rank * time_batches neighbours. Included by svdf_<type>_avx2.c after
 *   element                of state and weights
 *   widened(at, room)      16 elements as halfwords, of which `room` may be read
 *
 * Packed are both requantizations as rows of stage_rows.h, the features' weights, and for each unit its
 * weights over time as halfwords, in zeros. Scratch: a vector in halfwords, its features. */
#ifndef QN_S_SVDF_FAST_H
#define QN_S_SVDF_FAST_H

#include "dot_rows_avx2.h"

enum { LANES = 8, ROWS = STAGE_ROWS * LANES };

typedef struct svdf {
    const qn_s_svdf *p;
    int64_t filters, memory; /* elements of a unit's state */
} svdf;

static svdf svdf_of(const qn_s_svdf *p) {
    return (svdf){p, (int64_t)p->units * p->rank, (int64_t)p->rank * p->time_batches};
}

/* Halfwords of a unit's weights over time. */
static int64_t memory_step(const svdf *s) { return (s->memory + 15) / 16 * 16; }

static int64_t svdf_packed(const qn_s_svdf *p) {
    const svdf s = svdf_of(p);
    const int64_t times = dot_blocks(p->units) * LANES * memory_step(&s);
    return (2 * ROWS + dot_dwords(s.filters, p->input_size)) * 4 + times * 2;
}

static int64_t vector_bytes(const qn_s_svdf *p) { return dot_pairs(p->input_size) * 4; }

/* Helium has sums in lanes; the clamped state is packed with saturation. */
static int64_t svdf_scratch(const qn_s_svdf *p) {
    const svdf s = svdf_of(p);
    const int lanes = qn_path(p->profile) == QN_PATH_MVE && qn_rounding(p->profile) == QN_SINGLE;
    const int fits =
        sizeof(element) == 2 || (p->in_act_min >= INT8_MIN && p->in_act_max <= INT8_MAX);
    if (!fits || (lanes && (p->in_shift >= 0 || p->out_shift >= 0))) {
        return QN_NOT_TAKEN;
    }
    return vector_bytes(p) + dot_blocks(s.filters) * LANES * 4;
}

static void pack_pair(const qn_s_svdf *p, int32_t multiplier, int32_t shift, int32_t *rows) {
    const stage_channel pair = {multiplier, shift, INT64_MAX};
    const s_stage last = {p->profile, 0, 0, 0};
    for (int lane = 0; lane < LANES; lane++) {
        (void)stage_pack_lane(rows, LANES, lane, STAGE_EXACT, &pair, &last);
    }
}

static void svdf_pack(const qn_s_svdf *p, const element *weights, int32_t *packed) {
    const svdf s = svdf_of(p);
    memset(packed, 0, (size_t)svdf_packed(p));
    pack_pair(p, p->in_multiplier, p->in_shift, packed);
    pack_pair(p, p->out_multiplier, p->out_shift, packed + ROWS);
    packed += 2 * ROWS;
    for (int64_t f = 0; f < s.filters; f++) {
        for (int64_t i = 0; i < p->input_size; i++) {
            const int16_t value = *weights++;
            memcpy((int16_t *)(void *)dot_at(packed, p->input_size, f, i) + i % 2, &value, 2);
        }
    }
    int16_t *times = (int16_t *)(void *)(packed + dot_dwords(s.filters, p->input_size));
    for (int64_t u = 0; u < p->units; u++, times += memory_step(&s)) {
        for (int64_t i = 0; i < s.memory; i++) {
            times[i] = *weights++;
        }
    }
}

static inline __m256i requantized(const int32_t *rows, __m256i sum, int single) {
    return single ? requantized_single(rows, sum) : requantized_double(rows, sum);
}

static inline __m256i clamped(__m256i value, int32_t low, int32_t high) {
    return _mm256_max_epi32(_mm256_min_epi32(value, _mm256_set1_epi32(high)),
                            _mm256_set1_epi32(low));
}

/* The newest element of each filter's state. */
static void push_features(const svdf *s, const int32_t *rows, int32_t *sums, element *state) {
    const qn_s_svdf *p = s->p;
    const int single = qn_rounding(p->profile) == QN_SINGLE;
    const __m256i added = _mm256_set1_epi32(svdf_sums(p));
    element *newest = state + p->time_batches - 1;
    memmove(state, state + 1, (size_t)(s->filters * p->time_batches - 1) * sizeof *state);
    for (int64_t f = 0; f < s->filters; f += LANES, sums += LANES) {
        __m256i *eight = (__m256i *)(void *)sums;
        const __m256i sum = _mm256_add_epi32(_mm256_loadu_si256(eight), added);
        const __m256i value = requantized(rows, sum, single);
        _mm256_storeu_si256(eight, clamped(value, p->in_act_min, p->in_act_max));
        for (int64_t i = 0; i < LANES && f + i < s->filters; i++, newest += p->time_batches) {
            *newest = (element)sums[i];
        }
    }
}

/* The sums of 8 vectors, each in its lane. */
static inline __m256i sums_of_8(const __m256i of[8]) {
    const __m256i a =
        _mm256_hadd_epi32(_mm256_hadd_epi32(of[0], of[1]), _mm256_hadd_epi32(of[2], of[3]));
    const __m256i b =
        _mm256_hadd_epi32(_mm256_hadd_epi32(of[4], of[5]), _mm256_hadd_epi32(of[6], of[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                            _mm256_permute2x128_si256(a, b, 0x31));
}

/* left: elements of the state from this unit's first on. */
static inline __m256i over_time(const svdf *s, const element *state, int64_t left,
                                const int16_t *times) {
    __m256i sum = _mm256_setzero_si256();
    for (int64_t i = 0; i < s->memory; i += 16) {
        const __m256i weights = _mm256_loadu_si256((const __m256i *)(times + i));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(widened(state + i, left - i), weights));
    }
    return sum;
}

static void put_units(const svdf *s, const int32_t *rows, const int16_t *times, const int32_t *bias,
                      const element *state, int8_t *out) {
    const qn_s_svdf *p = s->p;
    const int single = qn_rounding(p->profile) == QN_SINGLE;
    int64_t left = p->units * s->memory;
    for (int64_t u = 0; u < p->units; u += LANES) {
        const int64_t count = p->units - u < LANES ? p->units - u : LANES;
        __m256i parts[LANES];
        for (int i = 0; i < LANES; i++) {
            parts[i] = i < count ? over_time(s, state, left, times) : _mm256_setzero_si256();
            state += i < count ? s->memory : 0;
            left -= s->memory;
            times += memory_step(s);
        }
        __m256i sum = _mm256_add_epi32(sums_of_8(parts), load_32(bias + u, 4 * count));
        sum = _mm256_add_epi32(requantized(rows, sum, single), _mm256_set1_epi32(p->output_offset));
        sum = clamped(sum, p->out_act_min, p->out_act_max);
        const __m128i words =
            _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        store_8(out + u, count, _mm_packs_epi16(words, words));
    }
}

static int svdf_run(const qn_s_svdf *p, const qn_buffers *b) {
    const svdf s = svdf_of(p);
    const int32_t *rows = b->packed, *features = rows + 2 * ROWS;
    const int16_t *times = (const int16_t *)(features + dot_dwords(s.filters, p->input_size));
    const int8_t *in = b->in[0];
    element *state = b->in[1];
    int8_t *out = b->out;
    int16_t *x = b->scratch;
    int32_t *sums = (int32_t *)(void *)((char *)b->scratch + vector_bytes(p));
    for (int32_t n = 0; n < p->batches; n++, in += p->input_size, out += p->units) {
        x[2 * dot_pairs(p->input_size) - 1] = 0;
        for (int64_t i = 0; i < p->input_size; i++) {
            x[i] = (int16_t)(in[i] - p->input_offset);
        }
        dot_rows(x, s.filters, p->input_size, features, sums);
        push_features(&s, rows, sums, state);
        put_units(&s, rows + ROWS, times, b->bias, state, out);
        state += s.filters * p->time_batches;
    }
    return QN_OK;
}

#endif
