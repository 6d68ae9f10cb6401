/* Requantization twice rounded as two multiplications of floats, and the proof that it is exact.
 * Included by stage_avx512.h after requantized_float().
 *
 * With r = multiplier / 2^(31+n), the plain stage is a step function of the sum:
 *
 *   RDP(HM(acc), n) = trunc(acc * r + sign(acc) * (1/2 + 2^-(n+1)))
 *
 * but for sums within 2^-(31+n) of a step. SCALE + REST is r, HALF the constant; every operation
 * rounds toward zero, so that it never passes an integer, and is monotonic: SCALE and REST are not
 * negative. Two monotonic functions are equal if they are on the same side of every step, so it
 * takes two sums for each of the at most 255 steps that an output can have to prove it for all of
 * them. Where rounding puts a step elsewhere, numbers next to these are tried. */
#ifndef QN_S_STAGE_FLOAT_H
#define QN_S_STAGE_FLOAT_H

#include <string.h>

typedef struct stage_scale {
    float scale, rest, half;
} stage_scale;

enum { MOST_SUM = 1 << 30, STAGE_TRIES = 12 };

/* Rows of 16 lanes of the same channel, for either stage. */
typedef struct stage_proof {
    const stage_channel *c;
    int32_t exact[STAGE_ROWS * 16], floats[3 * 16];
} stage_proof;

/* Where the lowest sum should be that becomes k or more; wrong guesses only lose the proof. */
static int32_t stage_step(const stage_channel *c, int32_t k) {
    const double unit = (double)(INT64_C(1) << (31 + stage_right(c))), less = unit / 2 + 0x1p30;
    const double step =
        k > 0 ? (k * unit - less) / c->multiplier : 1 - ((1 - k) * unit - less + 1) / c->multiplier;
    if (step >= MOST_SUM || step <= 1 - MOST_SUM) {
        return step > 0 ? MOST_SUM : 1 - MOST_SUM;
    }
    const int32_t whole = (int32_t)step;
    return k > 0 ? whole + (whole < step) : whole - (whole > step);
}

/* Do both stages step to k, k + 1 ... k + 15 at the same sums? */
static int stage_steps_hold(const stage_proof *proof, int32_t k) {
    int32_t steps[16], wanted[16];
    for (int i = 0; i < 16; i++) {
        wanted[i] = k + i;
        steps[i] = stage_step(proof->c, k + i);
    }
    const __m512i level = _mm512_loadu_si512(wanted), sums = _mm512_loadu_si512(steps);
    const __m512i before = _mm512_sub_epi32(sums, _mm512_set1_epi32(1));
    const __mmask16 at = _mm512_cmpge_epi32_mask(requantized_double(proof->exact, sums), level);
    const __mmask16 early =
        _mm512_cmpge_epi32_mask(requantized_double(proof->exact, before), level);
    const __mmask16 highest = _mm512_cmpeq_epi32_mask(sums, _mm512_set1_epi32(MOST_SUM));
    const __mmask16 lowest = _mm512_cmpeq_epi32_mask(before, _mm512_set1_epi32(-MOST_SUM));
    return (at | highest) == 0xffff && (early & (__mmask16)~lowest) == 0 &&
           _mm512_cmpge_epi32_mask(requantized_float(proof->floats, sums), level) == at &&
           _mm512_cmpge_epi32_mask(requantized_float(proof->floats, before), level) == early;
}

/* SCALE: the upper 24 of the multiplier's 31 bits. REST and HALF are tried a little larger, too. */
static stage_scale stage_candidate(const stage_channel *c, int number) {
    const int n = stage_right(c);
    const int32_t upper = c->multiplier & ~127;
    const double unit = 1.0 / (double)(INT64_C(1) << (31 + n)), more = number / 2 * 0x1p-33;
    return (stage_scale){
        .scale = (float)(upper * unit),
        .rest = (float)((c->multiplier - upper + c->multiplier * more) * unit),
        .half = (float)(0.5 + 0x1p30 * unit + number % 2 * 0x1p-24),
    };
}

static void stage_candidate_rows(const stage_scale *s, int32_t *rows) {
    for (int i = 0; i < 16; i++) {
        memcpy(rows + SCALE * 16 + i, &s->scale, sizeof(float));
        memcpy(rows + REST * 16 + i, &s->rest, sizeof(float));
        memcpy(rows + HALF * 16 + i, &s->half, sizeof(float));
    }
}

/* 0 where no candidate is proven. */
static int stage_float_of(const stage_channel *c, const s_stage *last, stage_scale *found) {
    const int32_t first = last->act_min - last->output_offset + 1;
    const int32_t end = last->act_max - last->output_offset;
    if (qn_rounding(last->profile) == QN_SINGLE || !stage_is_quick(c, last) || c->multiplier < 0) {
        return 0;
    }
    if (c->multiplier == 0) {
        *found = (stage_scale){0, 0, 0.5f};
        return 1;
    }
    stage_proof proof = {.c = c};
    for (int i = 0; i < 16; i++) {
        (void)stage_pack_lane(proof.exact, 16, i, STAGE_EXACT, c, last);
    }
    for (int number = 0; number < STAGE_TRIES; number++) {
        int32_t k = first;
        *found = stage_candidate(c, number);
        stage_candidate_rows(found, proof.floats);
        while (k <= end && stage_steps_hold(&proof, k)) {
            k += 16;
        }
        if (k > end) {
            return 1;
        }
    }
    return 0;
}

#endif
