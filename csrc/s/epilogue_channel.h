/* The numbers by which the epilogue of one output channel requantizes sums; found once per channel,
 * at plan time. With n = max(-shift, 0), z the output offset, P = sum * multiplier:
 *
 *                quick                             double rounding          single rounding
 *   multiplier   multiplier                        multiplier               multiplier
 *   right        n                                 n                        31 - shift
 *   left         -                                 max(shift, 0)            1 in 7.0.0, else 0
 *   nudge, half  2^(n-1) + z * 2^n, or lowest      2^n / 2, rounded down    -
 *   add          (*)                               -                        2^(30 - shift)
 *
 * Quick requires n in 1..20, |z| <= 2^7 and sums below 2^30, which can be doubled: |P| < 2^61,
 *
 *   T = floor((2P + 2^31 + 2^(31+n) + z * 2^(32+n)) / 2^32) = HM + 2^(n-1) + z * 2^n           (*)
 *
 * is the upper half of one addition. The result, RDP(HM, n) + z, is floor(T / 2^n) for HM >= 0, and
 * floor((T - 1) / 2^n) for HM < 0, which is T < nudge. |T| < 2^30 + 2^28. With single rounding (*)
 * has no 2^31, and no T is below nudge.
 *
 * A multiplier of 2^30 is a shift by right = 1 - shift. The result is
 *
 *   floor((sum + add + (floor(sum / 2^right) & odd)) / 2^right)
 *
 * add is 2^(right-1), rounded down, and odd 0. Halves go to even numbers if add is 1 less and odd
 * is 1, for right > 0.
 * Sums plus 2^(right-1) have 32 bits; the caller ensures it of QN_PROFILE_HALF_EVEN.
 *
 * Single rounding is floor((P + 2^(30 - shift)) / 2^(31 - shift)) in 64 bits: |P| <= 2^62. The
 * result is shifted by left and back again, as 7.0.0 keeps 31 bits of it. */
#ifndef QN_S_EPILOGUE_CHANNEL_H
#define QN_S_EPILOGUE_CHANNEL_H

#include "affine.h"

/* From the fastest kind to the exact ones, of which the rounding of a profile chooses one. Wide:
 * sums of the s16 API. */
typedef enum epilogue_kind {
    EPILOGUE_LINEAR,
    EPILOGUE_FLOATS,
    EPILOGUE_SHIFT,
    EPILOGUE_QUICK,
    EPILOGUE_DOUBLE,
    EPILOGUE_SINGLE,
    EPILOGUE_WIDE
} epilogue_kind;

/* See linear.h. */
typedef struct linear_numbers {
    float scale, constant;
    int32_t jump;
} linear_numbers;

/* See epilogue_float.inc. */
typedef struct float_numbers {
    float scale, rest, half;
} float_numbers;

typedef struct quick_numbers {
    int32_t multiplier, right, nudge;
    int64_t add;
} quick_numbers;

typedef struct double_numbers {
    int32_t multiplier, left, right, half;
} double_numbers;

typedef struct single_numbers {
    int32_t multiplier, left, right;
    int64_t add;
} single_numbers;

typedef struct shift_numbers {
    int32_t right, add, odd;
} shift_numbers;

/* The upper 16 bits of a multiplier, and a shift of 14 - shift. */
typedef struct wide_numbers {
    int32_t multiplier, right;
} wide_numbers;

typedef struct channel_numbers {
    epilogue_kind kind;
    union {
        linear_numbers linear;
        float_numbers floats;
        quick_numbers quick;
        double_numbers twice;
        single_numbers once;
        shift_numbers shifted;
        wide_numbers wide;
    };
} channel_numbers;

/* A channel's multiplier and shift; `most`: a bound of the magnitude of its sums; `bias`: the start
 * of its sums. */
typedef struct epilogue_channel {
    int32_t multiplier, shift;
    int64_t most, bias;
} epilogue_channel;

/* Kinds that an epilogue offers besides those of integers. find_floats: NULL, or a search that
 * returns 0 if a channel cannot have floats. linear_is_unsigned: see find_linear(). */
typedef struct epilogue_traits {
    int linear, linear_is_unsigned;
    int (*find_floats)(const epilogue_channel *c, const s_epilogue *epilogue,
                       channel_numbers *found);
} epilogue_traits;

/* With multiplier 0 the result is 0, so the shift is ignored. */
static inline int32_t epilogue_right(const epilogue_channel *c) {
    int32_t shift = s_shift(c->shift);
    return c->multiplier == 0 ? 1 : shift < 0 ? -shift : 0;
}

/* True if the output offset can be added to halfwords. */
static inline int epilogue_is_near(const s_epilogue *epilogue) {
    enum { MOST_OFFSET_MAGNITUDE = 128 };
    return epilogue->output_offset >= -MOST_OFFSET_MAGNITUDE &&
           epilogue->output_offset <= MOST_OFFSET_MAGNITUDE;
}

/* Return a bound of sums that are shifted left, or 2^30 if they may reach it. */
static inline int64_t epilogue_shifted(const epilogue_channel *c) {
    const int32_t shift = s_shift(c->shift), left = shift > 0 ? shift : 0;
    return c->most < 1 << 30 && c->most << left < 1 << 30 ? c->most << left : 1 << 30;
}

/* True if all outputs of a channel are equal, to `constant` without the offset. Training makes such
 * channels: their scale is as small as possible, and their bias large. */
static inline int epilogue_is_constant(const epilogue_channel *c, const s_epilogue *epilogue,
                                       int32_t *constant) {
    const int32_t shift = s_shift(c->shift);
    const int64_t spread = c->most - (c->bias < 0 ? -c->bias : c->bias);
    const int64_t low = c->bias - spread, high = c->bias + spread;
    if (shift >= 0 || c->multiplier < 0 || low < INT32_MIN || high > INT32_MAX) {
        return 0;
    }
    *constant = qn_requantize(epilogue->profile, (int32_t)low, c->multiplier, shift);
    return *constant == qn_requantize(epilogue->profile, (int32_t)high, c->multiplier, shift);
}

/* True if a multiplier is a shift to the right, single rounding keeps all bits, and sums have room
 * for the half that it adds. */
static inline int epilogue_is_shift(const epilogue_channel *c, const s_epilogue *epilogue) {
    const int32_t right = 1 - s_shift(c->shift);
    return qn_rounding(epilogue->profile) == QN_SINGLE && !qn_has_31_bits(epilogue->profile) &&
           epilogue->output_offset == 0 && c->multiplier == 1 << 30 && right >= 0 && right < 32 &&
           c->most + (INT64_C(1) << right) / 2 <= INT32_MAX;
}

/* Return 0 if the channel does not shift. */
static inline int find_shift(const epilogue_channel *c, const s_epilogue *epilogue,
                             channel_numbers *found) {
    const int even = epilogue->profile == QN_PROFILE_HALF_EVEN;
    if (!even && !epilogue_is_shift(c, epilogue)) {
        return 0;
    }
    const int32_t right = 1 - s_shift(c->shift), odd = even && right > 0;
    *found = (channel_numbers){
        .kind = EPILOGUE_SHIFT,
        .shifted = {.right = right, .add = (int32_t)((INT64_C(1) << right) / 2 - odd), .odd = odd},
    };
    return 1;
}

/* Return 0 if the channel cannot be quick. */
static inline int find_quick(const epilogue_channel *c, const s_epilogue *epilogue,
                             channel_numbers *found) {
    const int twice = qn_rounding(epilogue->profile) != QN_SINGLE;
    const int32_t n = epilogue_right(c);
    if (!epilogue_is_near(epilogue) || n < 1 || n > 20 || c->most >= 1 << 30) {
        return 0;
    }
    const int64_t unit = INT64_C(1) << n, nudge = unit / 2 + epilogue->output_offset * unit;
    *found = (channel_numbers){
        .kind = EPILOGUE_QUICK,
        .quick = {.multiplier = c->multiplier,
                  .right = n,
                  .nudge = twice ? (int32_t)nudge : INT32_MIN,
                  .add = (twice ? INT64_C(1) << 31 : 0) + nudge * (INT64_C(1) << 32)},
    };
    return 1;
}

static inline channel_numbers exact_numbers(const epilogue_channel *c, int32_t profile) {
    const int32_t shift = s_shift(c->shift), left = shift > 0 ? shift : 0, right = left - shift;
    if (qn_rounding(profile) == QN_SINGLE) {
        return (channel_numbers){
            .kind = EPILOGUE_SINGLE,
            .once = {.multiplier = c->multiplier,
                     .left = qn_has_31_bits(profile),
                     .right = 31 - shift,
                     .add = INT64_C(1) << (30 - shift)},
        };
    }
    return (channel_numbers){
        .kind = EPILOGUE_DOUBLE,
        .twice = {.multiplier = c->multiplier,
                  .left = left,
                  .right = right,
                  .half = qn_wrap32(qn_shl(1, right) >> 1)},
    };
}

static inline channel_numbers wide_numbers_of(int32_t multiplier, int32_t shift) {
    return (channel_numbers){
        .kind = EPILOGUE_WIDE,
        .wide = {.multiplier = qn_multiplier16(multiplier), .right = 14 - qn_clamp(shift, -31, 7)},
    };
}

#endif
