/* A sum of s8 elements as one linear form of both, and the proof that it is exact: all 65536 pairs are
 * tried at plan time.
 *
 *   out = clamp(floor((x * s.x + y * s.y + s.start) / 2^s.bits), act_min, act_max)
 *
 * s.x and s.y are the real factors of either input times 2^bits, or close by; start holds the offsets
 * and the half that rounds. Of either factor's neighbours those are tried first that are a little
 * larger in proportion: ties go away from zero then. What the factors leave between the pair that is
 * nearest to falling below its output and the one nearest to rising above is room for start. */
#ifndef QN_S_SUM_LINEAR_H
#define QN_S_SUM_LINEAR_H

#include "uniform.h"

/* bits: 0 of a sum that no form was found for. */
typedef struct sum_linear {
    int64_t start;
    int32_t x, y, bits;
} sum_linear;

/* What a row computes without loss: the most and least bits; |s.x| and |s.y| below `factor`, |start|
 * below `start`, and that a multiple of `grain`. */
typedef struct sum_room {
    int32_t most_bits, least_bits, factor, grain;
    double start;
} sum_room;

/* The least and the most of x * s.x + y * s.y + s.start - 2^bits * out of all pairs, out without
 * clamping: the least of outs above act_min, the most of those below act_max. Both begin at half of
 * 2^bits. A row that has found more than 2^bits between them may stop. They fit 32 bits, where sums wrap:
 * three roundings and the distance to the real factors are some units of 2^bits. */
typedef struct sum_ends {
    int32_t least, most;
} sum_ends;

typedef sum_ends sum_ends_of(const qn_s_add *p, const sum_linear *s);

/* 2^(shift - 31) * multiplier, without a function of the library. */
static inline double sum_factor(int32_t multiplier, int32_t shift) {
    return multiplier / (double)(INT64_C(1) << (31 - shift));
}

static inline double sum_larger(double a, double b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return a > b ? a : b;
}

static inline int32_t sum_nearest(double a) { return (int32_t)(a < 0 ? a - 0.5 : a + 0.5); }

enum { SUM_TRIES = 16 };

/* In units of 2^-24 or the row's own: of the larger factor, with the other in proportion; of each. */
static inline sum_linear sum_try(const qn_s_add *p, const sum_room *room, int number) {
    static const int8_t steps[SUM_TRIES][3] = {
        {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {0, -1, 1}, {0, -1, -1}, {0, -2, 1}, {0, 0, 1},
        {3, 0, 0}, {8, 0, 0}, {6, 0, 0}, {9, 0, 0}, {12, 0, 0}, {10, 0, 0},  {11, 0, 0}, {7, 0, 0},
    };
    const double out = sum_factor(p->out_mult, p->out_shift) * (double)(1 << p->left_shift);
    const double x = sum_factor(p->input_1_mult, p->input_1_shift) * out;
    const double y = sum_factor(p->input_2_mult, p->input_2_shift) * out;
    const double larger = sum_larger(x, y);
    const double start = p->input_1_offset * x + p->input_2_offset * y + p->out_offset;
    int32_t bits =
        room->most_bits; /* a factor moves by 17 units of 2^4 at most, and start with it */
    while (bits >= room->least_bits && (larger * (1 << bits) > room->factor - 512 ||
                                        sum_larger(start, 0) * (1 << bits) > room->start)) {
        bits--;
    }
    const int near = p->out_offset >= INT8_MIN && p->out_offset <= -INT8_MIN;
    if (bits < room->least_bits || larger == 0 || !near) {
        return (sum_linear){.bits = 0};
    }
    const double unit = bits > 24 ? 1 << (bits - 24) : 1;
    const double grown = (1 << bits) + steps[number][0] * unit / larger;
    sum_linear s = {.x = sum_nearest(x * grown + steps[number][1] * unit),
                    .y = sum_nearest(y * grown + steps[number][2] * unit),
                    .bits = bits};
    s.start = (int64_t)p->input_1_offset * s.x + (int64_t)p->input_2_offset * s.y +
              p->out_offset * (INT64_C(1) << bits) + (INT64_C(1) << (bits - 1));
    return s;
}

static inline sum_linear sum_prove(const qn_s_add *p, const sum_room *room, sum_ends_of *ends_of) {
    for (int number = 0; number < SUM_TRIES; number++) {
        sum_linear s = sum_try(p, room, number);
        if (!s.bits) {
            break;
        }
        const sum_ends ends = ends_of(p, &s);
        const int64_t low = s.start - ends.least;
        const int64_t high = s.start + (1 << s.bits) - 1 - ends.most;
        s.start = low + (high - low) / 2;
        s.start -= s.start & (room->grain - 1);
        if (low <= s.start && s.start <= high) {
            return s;
        }
    }
    return (sum_linear){.bits = 0};
}

#endif
