/* LSTM on AVX2: the sums of all gates of a step at once, then 8 units at a time. Included by
 * lstm_<type>_avx2.c after
 *   data, BYTES           int8_t or int16_t, of input, hidden values and output
 *   requantized_gate()    of 8 sums of a gate, by rows of stage_rows.h
 *
 * Gates have their units in whole eights. Packed are: 32 bytes with whether the plain row must have the
 * call; rows of the eleven pairs; biases [half][gate][unit]; both matrices. */
#ifndef QN_S_LSTM_FAST_H
#define QN_S_LSTM_FAST_H

#include "dot_rows_avx2.h"

enum { GATES = 4, HEAD = 8, LANES = 8, ROWS = STAGE_ROWS * LANES };
enum { FORGET, INPUT, CELL, OUTPUT, KEPT = 2 * GATES, ADDED, SHOWN, PAIRS }; /* rows */

/* Units in whole eights. */
static int64_t eights(const qn_s_lstm *p) { return ((int64_t)p->hidden_size + 7) / 8 * 8; }

static int64_t biases_at(void) { return HEAD + PAIRS * ROWS; }
static int64_t inputs_at(const qn_s_lstm *p) { return biases_at() + 2 * GATES * eights(p); }
static int64_t hiddens_at(const qn_s_lstm *p) {
    return inputs_at(p) + dot_dwords(GATES * eights(p), p->input_size);
}

static int64_t lstm_packed(const qn_s_lstm *p) {
    return 4 * (hiddens_at(p) + dot_dwords(GATES * eights(p), p->hidden_size));
}

static int64_t cell_bytes(const qn_s_lstm *p) { return (s_lstm_cell_bytes(p) + 63) / 64 * 64; }

/* The cell state where it has no array, both sums, both vectors. Helium has sums in lanes. */
static int64_t lstm_scratch(const qn_s_lstm *p) {
    if (qn_path(p->profile) == QN_PATH_MVE && qn_rounding(p->profile) == QN_SINGLE) {
        return QN_NOT_TAKEN;
    }
    const int64_t vectors = dot_pairs(p->input_size) + dot_pairs(p->hidden_size);
    return cell_bytes(p) + 4 * (vectors + 2 * GATES * eights(p));
}

/* One call. hidden_sums: of a step that has a hidden vector. */
typedef struct lstm {
    const qn_s_lstm *p;
    const int32_t *packed;
    int32_t *sums, *hidden_sums;
    int16_t *x, *hidden;
    looked_up shown;
    int tanh[GATES];
} lstm;

static lstm lstm_of(const qn_s_lstm *p, const qn_buffers *b) {
    lstm l = {.p = p,
              .packed = b->packed,
              .shown = looked_up_of(p->cell_scale_power + 12),
              .tanh = {p->forget_activation_type, p->input_gate_activation_type,
                       p->cell_activation_type, p->output_gate_activation_type}};
    l.sums = (int32_t *)(void *)((char *)b->scratch + cell_bytes(p));
    l.hidden_sums = l.sums + GATES * eights(p);
    l.x = (int16_t *)(void *)(l.hidden_sums + GATES * eights(p));
    l.hidden = l.x + 2 * dot_pairs(p->input_size);
    return l;
}

static const int16_t *in_pairs(const data *from, int64_t count, int16_t *to) {
    to[2 * dot_pairs(count) - 1] = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
    return to;
}

static void sum_up(const lstm *l, const data *x, const data *hidden) {
    const qn_s_lstm *p = l->p;
    const int64_t rows = GATES * eights(p);
    dot_rows(in_pairs(x, p->input_size, l->x), rows, p->input_size, l->packed + inputs_at(p),
             l->sums);
    if (hidden) {
        dot_rows(in_pairs(hidden, p->hidden_size, l->hidden), rows, p->hidden_size,
                 l->packed + hiddens_at(p), l->hidden_sums);
    }
}

static inline __m256i vector_at(const int32_t *values) {
    return _mm256_loadu_si256((const __m256i *)values);
}

static inline __m256i saturated(__m256i x) { return _mm256_cvtepi16_epi32(halfwords(x)); }

/* Gate g of units j..j+7. */
static inline __m256i gate_at(const lstm *l, int g, int64_t j, int with_hidden) {
    const int64_t all = eights(l->p), at = g * all + j;
    const int32_t *rows = l->packed + HEAD, *bias = l->packed + biases_at();
    const int single = qn_rounding(l->p->profile) == QN_SINGLE;
    const looked_up whole = {3, 0, 0};
    __m256i sum = _mm256_add_epi32(vector_at(l->sums + at), vector_at(bias + at));
    sum = saturated(requantized_gate(rows + g * ROWS, sum, single));
    if (with_hidden) {
        __m256i more =
            _mm256_add_epi32(vector_at(l->hidden_sums + at), vector_at(bias + GATES * all + at));
        more = requantized_gate(rows + (GATES + g) * ROWS, more, single);
        sum = saturated(_mm256_add_epi32(more, sum));
    }
    return activated(looked_up_at(&whole, sum), l->tanh[g]);
}

static inline __m256i scaled_product(const lstm *l, int pair, __m256i a, __m256i e) {
    const int32_t *rows = l->packed + HEAD + pair * ROWS;
    const __m256i product = _mm256_mullo_epi32(a, e);
    return qn_rounding(l->p->profile) == QN_SINGLE ? requantized_single(rows, product)
                                                   : requantized_double(rows, product);
}

static inline __m256i between(__m256i x, int32_t low, int32_t high) {
    return _mm256_max_epi32(_mm256_min_epi32(x, _mm256_set1_epi32(high)), _mm256_set1_epi32(low));
}

/* Units j..j+7 of one step. */
static inline void put_units(const lstm *l, int64_t j, int with_hidden, int16_t *cells, data *out) {
    const qn_s_lstm *p = l->p;
    const int64_t left = p->hidden_size - j;
    const int32_t low = p->cell_clip ? -p->cell_clip : INT16_MIN;
    const int32_t high = p->cell_clip ? p->cell_clip : INT16_MAX;
    __m256i gates[GATES];
    for (int g = 0; g < GATES; g++) {
        gates[g] = gate_at(l, g, j, with_hidden);
    }
    __m256i cell = _mm256_cvtepi16_epi32(load_16(cells + j, 2 * left));
    const __m256i kept = saturated(scaled_product(l, KEPT, gates[FORGET], cell));
    cell = _mm256_add_epi32(scaled_product(l, ADDED, gates[INPUT], gates[CELL]), kept);
    cell = between(cell, low, high);
    store_16(cells + j, 2 * left, halfwords(cell));
    const __m256i shown = activated(looked_up_at(&l->shown, cell), 1);
    __m256i value = scaled_product(l, SHOWN, gates[OUTPUT], shown);
    value = _mm256_add_epi32(value, _mm256_set1_epi32(p->output_offset));
    const __m128i words = halfwords(value);
    if (BYTES == 1) {
        store_8(out + j, left, _mm_packs_epi16(words, words));
    } else {
        store_16(out + j, 2 * left, words);
    }
}

/* All steps of batch n; hidden, cells: its states, hidden NULL without one. */
static void sequence(const lstm *l, const qn_buffers *b, int64_t n, data *hidden, int16_t *cells) {
    const qn_s_lstm *p = l->p;
    const data *before = hidden;
    for (int64_t t = 0; t < p->time_steps; t++) {
        const int64_t at = p->time_major ? t * p->batch_size + n : n * p->time_steps + t;
        data *out = (data *)b->out + at * p->hidden_size;
        sum_up(l, (const data *)b->in[0] + at * p->input_size, before);
        for (int64_t j = 0; j < p->hidden_size; j += LANES) {
            put_units(l, j, before != NULL, cells, out);
        }
        before = out;
    }
    if (hidden) {
        memcpy(hidden, before, (size_t)p->hidden_size * BYTES);
    }
}

static int lstm_run(const qn_s_lstm *p, const qn_buffers *b) {
    const lstm l = lstm_of(p, b);
    const int64_t size = p->hidden_size;
    int16_t *cells = p->has_cell_state ? b->in[1] : b->scratch;
    if (!p->has_hidden_state) {
        memset(cells, 0, (size_t)(p->batch_size * size * 2));
    }
    for (int64_t n = 0; n < p->batch_size; n++) {
        data *hidden = p->has_hidden_state ? (data *)b->in[2] + n * size : NULL;
        sequence(&l, b, n, hidden, cells + n * size);
    }
    return QN_OK;
}

/* Rows of a pair that requantizes 32 bits. */
static inline void pack_exact_pair(const qn_s_lstm *p, int32_t multiplier, int32_t shift,
                                   int32_t *rows) {
    const stage_channel pair = {multiplier, shift, INT64_MAX};
    const s_stage last = {p->profile, 0, 0, 0};
    for (int lane = 0; lane < LANES; lane++) {
        (void)stage_pack_lane(rows, LANES, lane, STAGE_EXACT, &pair, &last);
    }
}

#endif
