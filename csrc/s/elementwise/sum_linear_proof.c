/* The proof of a sum as a linear form. */
#include "sum_linear.h"

#include "../../common/kernels.h"

#if QN_HAS_X86 /* whose rows alone have it */

/* 2^(shift - 31) * multiplier, without a function of the library. */
static double sum_factor(int32_t multiplier, int32_t shift) {
    return multiplier / (double)(INT64_C(1) << (31 - shift));
}

static double sum_size(double a) { return a < 0 ? -a : a; }

static int32_t sum_nearest(double a) { return (int32_t)(a < 0 ? a - 0.5 : a + 0.5); }

enum { SUM_TRIES = 16 };

/* Steps: of the larger factor in grains, with the other in proportion; of each in quarters of one.
 * */
static QN_ONCE sum_linear sum_try(const qn_s_add *p, const sum_room *room, int number) {
    static const int8_t steps[SUM_TRIES][3] = {
        {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {0, -1, 1}, {0, -1, -1}, {0, -2, 1}, {0, 0, 1},
        {3, 0, 0}, {8, 0, 0}, {6, 0, 0}, {9, 0, 0}, {12, 0, 0}, {10, 0, 0},  {11, 0, 0}, {7, 0, 0},
    };
    const double out = sum_factor(p->out_mult, p->out_shift) * (double)(1 << p->left_shift);
    const double x = sum_factor(p->input_1_mult, p->input_1_shift) * out;
    const double y = sum_factor(p->input_2_mult, p->input_2_shift) * out;
    const double larger = sum_size(x) > sum_size(y) ? sum_size(x) : sum_size(y);
    const double start = p->input_1_offset * x + p->input_2_offset * y + p->out_offset;
    int32_t bits = room->most_bits;
    while (bits >= room->least_bits && (larger * (1 << bits) > room->factor - 16 * room->grain ||
                                        sum_size(start) * (1 << bits) > room->start)) {
        bits--; /* no factor moves by 16 grains */
    }
    const int near = p->out_offset >= INT8_MIN && p->out_offset <= -INT8_MIN;
    if (bits < room->least_bits || larger == 0 || !near) {
        return (sum_linear){.bits = 0};
    }
    const int32_t quarter = (room->grain + 3) / 4;
    const double grown = (1 << bits) + steps[number][0] * room->grain / larger;
    sum_linear s = {.x = sum_nearest(x * grown + steps[number][1] * quarter),
                    .y = sum_nearest(y * grown + steps[number][2] * quarter),
                    .bits = bits};
    s.start = (int64_t)p->input_1_offset * s.x + (int64_t)p->input_2_offset * s.y +
              p->out_offset * (INT64_C(1) << bits) + (INT64_C(1) << (bits - 1));
    return s;
}

QN_ONCE sum_linear sum_prove(const qn_s_add *p, const sum_room *room, sum_ends_of *ends_of) {
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
