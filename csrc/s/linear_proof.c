/* The search for numbers of linear epilogues. Values that are compared with outputs are integers in
 * units of 2^-bits, so that a scale is an integer of 24 bits and nothing is rounded. */
#include "linear.h"

#include <string.h>

enum {
    MOST_STEPS = 255,
    MOST_SUM = 1 << 29,  /* any smaller sum with a jump is the dword of a float */
    MOST_OUTPUT = 32000, /* in 16 bits, with an offset */
    MOST_OFFSET = 256,   /* magnitude */
    MOST_SHIFT = 24,     /* to the right: units fit 64 bits */
    TRIES = 17,          /* scales */
    LEAST_MULTIPLIER = 1 << 30,
    FLOATS = 1 << 23, /* floats from here to 2 * FLOATS are the integers */
    MIDDLE = FLOATS / 2 * 3,
    FLOATS_AT = 0x4b000000,  /* FLOATS as a float */
    FLOATS_END = 0x7f800000, /* infinity as a float */
};

/* Sum at[i] is the least whose output, without the offset, is first + i or more. least: the sum
 * before the first step; most: the sum of the last step. If the channel's sums end before outputs
 * are clamped (ends_below, ends_above), they are that end. */
typedef struct steps {
    int32_t first, count;
    int32_t at[MOST_STEPS];
    int ends_below, ends_above;
    int64_t least, most;
} steps;

static int32_t output_of(const epilogue_channel *c, const s_epilogue *epilogue, int64_t sum) {
    return qn_requantize(epilogue->profile, (int32_t)sum, c->multiplier, s_shift(c->shift));
}

static void find_steps(const epilogue_channel *c, const s_epilogue *epilogue, steps *s) {
    const int32_t low = output_of(c, epilogue, -c->most), high = output_of(c, epilogue, c->most);
    const int32_t least = epilogue->act_min - epilogue->output_offset;
    const int32_t most = epilogue->act_max - epilogue->output_offset;
    const double unit = (double)(INT64_C(1) << (31 - s_shift(c->shift))) / c->multiplier;
    s->first = (low < least ? least : low) + 1;
    s->count = (high < most ? high : most) - s->first + 1;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t k = s->first + i;
        int64_t at = (int64_t)((k - 0.5) * unit);
        at = at < -c->most ? -c->most : at > c->most ? c->most : at;
        while (output_of(c, epilogue, at) < k) {
            at++;
        }
        while (output_of(c, epilogue, at - 1) >= k) {
            at--;
        }
        s->at[i] = (int32_t)at;
    }
    s->ends_below = low > least;
    s->ends_above = high < most;
    s->least = s->ends_below || s->count <= 0 ? -c->most : s->at[0] - 1;
    s->most = s->ends_above || s->count <= 0 ? c->most : s->at[s->count - 1];
}

/* The range of the amounts that, added to sums * scale, put each step at its sum, and no further
 * step before the ends of the channel. */
typedef struct between {
    int64_t low, count;
} between;

static between between_of(const steps *s, int64_t scale, int bits) {
    const int64_t half = INT64_C(1) << (bits - 1), last = s->first + s->count;
    int64_t low = INT64_MIN, end = INT64_MAX;
    if (s->ends_below) {
        low = (2 * (int64_t)s->first - 3) * half - s->least * scale;
    }
    if (s->ends_above) {
        end = (2 * last - 1) * half - s->most * scale;
    }
    for (int32_t i = 0; i < s->count; i++) {
        const int64_t at = (2 * (int64_t)(s->first + i) - 1) * half - s->at[i] * scale;
        low = at > low ? at : low;
        end = at + scale < end ? at + scale : end;
    }
    return (between){low + 1, end - low - 1}; /* no ties: they round to even numbers */
}

/* Return the least t up to `most` with low <= t * step mod modulus <= high, or -1. 0 < low and high
 * < modulus; step and most are at most 2^24, so no product exceeds 2^50. If no multiple of step is
 * in range, some rounds of the modulus later one may be, and the number of rounds is the same
 * problem modulo step. */
static int64_t first_within(int64_t step, int64_t modulus, int64_t low, int64_t high,
                            int64_t most) {
    if (step == 0) {
        return -1;
    }
    int64_t t = (low + step - 1) / step;
    if (t * step > high) {
        const int64_t rounds = first_within(modulus % step, step, step - high % step,
                                            step - low % step, most * step / modulus + 1);
        if (rounds < 0) {
            return -1;
        }
        t = (low + rounds * modulus + step - 1) / step;
    }
    return t <= most ? t : -1;
}

/* Return the value before rounding, of a sum that started from a jump. */
static double rounded_at(const linear_numbers *l, int64_t sum) {
    const int32_t dword = (int32_t)(sum + l->jump);
    float x;
    memcpy(&x, &dword, sizeof x);
    return (double)x * l->scale + l->constant;
}

/* True if the least and the largest sum are floats, and their outputs have 16 bits. Steps do not
 * tell. */
static int ends_hold(const epilogue_channel *c, const linear_numbers *l) {
    return l->jump > c->most && l->jump + c->most < FLOATS_END &&
           rounded_at(l, -c->most) >= MIDDLE - MOST_OUTPUT &&
           rounded_at(l, c->most) <= MIDDLE + MOST_OUTPUT;
}

/* Return 0 if no jump serves with this scale. */
static int linear_of_scale(const epilogue_channel *c, const s_epilogue *epilogue, const steps *s,
                           int64_t scale, int bits, linear_numbers *found) {
    const int64_t unit = INT64_C(1) << bits;
    const int64_t least = FLOATS - s->least, most = 2 * (int64_t)FLOATS - 1 - s->most - least;
    const between fits = between_of(s, scale, bits);
    if (fits.count <= 0 || most < 0) {
        return 0;
    }
    const int64_t rest = (least * scale - fits.low) & (unit - 1); /* of the least start */
    const int64_t low = unit - rest, high = low + fits.count - 1;
    const int64_t t = high >= unit ? 0 : first_within(scale & (unit - 1), unit, low, high, most);
    const int64_t start = least + t, whole = qn_asr64(start * scale - fits.low, bits);
    const int64_t constant = MIDDLE + epilogue->output_offset - whole;
    if (t < 0 || constant <= -2 * FLOATS || constant >= 2 * FLOATS) {
        return 0;
    }
    *found = (linear_numbers){(float)((double)scale / (double)unit), (float)constant,
                              (int32_t)(FLOATS_AT - FLOATS + start)};
    return ends_hold(c, found);
}

/* Numbers for a channel whose outputs are all equal, maybe by clamping. bias: the middle of its
 * sums. */
static int linear_of_none(const epilogue_channel *c, const s_epilogue *epilogue, int64_t bias,
                          linear_numbers *found) {
    const int64_t spread = c->most - (bias < 0 ? -bias : bias);
    const int32_t offset = epilogue->output_offset, output = output_of(c, epilogue, bias);
    const int32_t least = epilogue->act_min - offset, most = epilogue->act_max - offset;
    const int32_t kept = output < least ? least : output > most ? most : output;
    *found = (linear_numbers){0, (float)(MIDDLE + offset + kept),
                              qn_wrap32((uint32_t)LINEAR_MIDDLE - (uint32_t)bias)};
    return spread < MOST_SUM;
}

int s_find_linear(const epilogue_channel *c, const s_epilogue *epilogue, linear_numbers *found) {
    const int32_t shift = s_shift(c->shift), offset = epilogue->output_offset;
    const int bits = 24 - shift;
    int32_t constant;
    if (offset < -MOST_OFFSET || offset > MOST_OFFSET) {
        return 0;
    }
    if (c->multiplier == 0 || epilogue_is_constant(c, epilogue, &constant)) {
        return linear_of_none(c, epilogue, c->bias, found);
    }
    if (c->multiplier < LEAST_MULTIPLIER || shift > 0 || shift < -MOST_SHIFT ||
        c->most >= MOST_SUM || c->most >> -shift > MOST_OUTPUT) {
        return 0;
    }
    steps s;
    find_steps(c, epilogue, &s);
    if (s.count <= 0) {
        return linear_of_none(c, epilogue, 0, found);
    }
    const int64_t nearest = ((int64_t)c->multiplier + 64) >> 7;
    for (int i = 0; i < TRIES; i++) {
        const int64_t scale = nearest + (i % 2 ? (i + 1) / 2 : -i / 2);
        if (scale > 1 << 23 && scale <= 1 << 24 &&
            linear_of_scale(c, epilogue, &s, scale, bits, found)) {
            return 1;
        }
    }
    return 0;
}
