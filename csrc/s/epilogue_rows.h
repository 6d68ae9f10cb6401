/* What the epilogues of s8 read for each vector of channels: rows of as many dwords as it has
 * lanes, made once, at plan time. KIND tells in its first lane how the vectors that a tile has side by
 * side are requantized. With n = max(-shift, 0), z the output offset, P = sum * multiplier:
 *
 *               quick                             double rounding          single rounding
 *   MULTIPLIER  multiplier                        multiplier               multiplier
 *   MULT_ODD    of the odd lanes, each in the lane before, where VPMULDQ reads its factors
 *   RIGHT       n                                 n                        31 - shift
 *   LEFT        -                                 max(shift, 0)            1 of 7.0.0, or 0
 *   NUDGE       2^(n-1) + z * 2^n, or lowest      2^n / 2, rounded down    -
 *   ADD_EVEN    (*)                               -                        2^(30 - shift), 64 bits
 *   ADD_ODD     the same of odd lanes                                      each, of even lanes
 *
 * Quick is possible where n is 1..20, z is at most 2^7 and no sum reaches 2^30, so that it can be
 * doubled: |P| < 2^61,
 *
 *   T = floor((2P + 2^31 + 2^(31+n) + z * 2^(32+n)) / 2^32) = HM + 2^(n-1) + z * 2^n           (*)
 *
 * is the upper half of one addition, and the result, RDP(HM, n) + z, is floor(T / 2^n) for HM >= 0,
 * floor((T - 1) / 2^n) for HM < 0, which is T < NUDGE. |T| < 2^30 + 2^28. Rounding once is the same
 * without 2^31 in (*), and no T is below NUDGE.
 * Rounding once is floor((P + 2^(30 - shift)) / 2^(31 - shift)), of 64 bits: |P| <= 2^62. The
 * result is shifted LEFT and back again, as 7.0.0 keeps 31 bits of it.
 *
 * Epilogues with floating-point numbers read SCALE, REST and HALF instead, see epilogue_float.inc, or
 * SCALE and CONSTANT of sums that start from JUMP more, see linear.h. */
#ifndef QN_S_EPILOGUE_ROWS_H
#define QN_S_EPILOGUE_ROWS_H

#include <string.h>

#include "affine.h"

enum { MULTIPLIER, MULT_ODD, RIGHT, LEFT, NUDGE, ADD_EVEN, ADD_ODD, KIND, EPILOGUE_ROWS };
enum { SCALE, REST, HALF };
enum { CONSTANT = 1, JUMP };
enum { ALIKE = 1 }; /* lane of the first KIND: do all vectors have the same rows? */
enum { EPILOGUE_OFFSET_MOST = 128 }; /* that is added to halfwords, too */

/* From the fastest on. */
typedef enum epilogue_kind {
    EPILOGUE_LINEAR,
    EPILOGUE_FLOAT,
    EPILOGUE_QUICK,
    EPILOGUE_EXACT
} epilogue_kind;

/* A channel's pair, and the magnitude that none of its sums passes: `bias` is what all of them start
 * from. */
typedef struct epilogue_channel {
    int32_t multiplier, shift;
    int64_t most, bias;
} epilogue_channel;

/* As a multiplier of 0 makes 0 of anything, its shift is of no account. */
static inline int32_t epilogue_right(const epilogue_channel *c) {
    int32_t shift = s_shift(c->shift);
    return c->multiplier == 0 ? 1 : shift < 0 ? -shift : 0;
}

static inline int epilogue_is_near(const s_epilogue *last) {
    return last->output_offset >= -EPILOGUE_OFFSET_MOST &&
           last->output_offset <= EPILOGUE_OFFSET_MOST;
}

static inline int epilogue_is_quick(const epilogue_channel *c, const s_epilogue *last) {
    int32_t right = epilogue_right(c);
    return epilogue_is_near(last) && right >= 1 && right <= 20 && c->most < (1 << 30);
}

/* The magnitude that no sum passes where it has been shifted left, or 2^30 if that may be more. */
static inline int64_t epilogue_shifted(const epilogue_channel *c) {
    const int32_t shift = s_shift(c->shift), left = shift > 0 ? shift : 0;
    return c->most < 1 << 30 && c->most << left < 1 << 30 ? c->most << left : 1 << 30;
}

/* Is every output of a channel the same, but for the offset? Such channels come from training: their
 * scale is as small as can be, and their bias so much the larger. */
static inline int epilogue_is_constant(const epilogue_channel *c, const s_epilogue *last,
                                       int32_t *constant) {
    const int32_t shift = s_shift(c->shift);
    const int64_t spread = c->most - (c->bias < 0 ? -c->bias : c->bias);
    const int64_t low = c->bias - spread, high = c->bias + spread;
    if (shift >= 0 || c->multiplier < 0 || low < INT32_MIN || high > INT32_MAX) {
        return 0;
    }
    *constant = qn_requantize(last->profile, (int32_t)low, c->multiplier, shift);
    return *constant == qn_requantize(last->profile, (int32_t)high, c->multiplier, shift);
}

static inline void epilogue_pack_add(int32_t *rows, int lanes, int lane, int64_t add) {
    int32_t *to = rows + (lane % 2 ? ADD_ODD : ADD_EVEN) * lanes + lane / 2 * 2;
    to[0] = (int32_t)(uint32_t)add;
    to[1] = (int32_t)qn_asr64(add, 32);
}

static inline void epilogue_pack_quick(int32_t *rows, int lanes, int lane,
                                       const epilogue_channel *c, const s_epilogue *last) {
    const int twice = qn_rounding(last->profile) != QN_SINGLE;
    int32_t n = epilogue_right(c), unit = (int32_t)qn_shl(1, n);
    int64_t nudge = unit / 2 + (int64_t)last->output_offset * unit;
    rows[RIGHT * lanes + lane] = n;
    rows[NUDGE * lanes + lane] = twice ? (int32_t)nudge : INT32_MIN;
    epilogue_pack_add(rows, lanes, lane,
                      (twice ? INT64_C(1) << 31 : 0) + nudge * (INT64_C(1) << 32));
}

static inline void epilogue_pack_exact(int32_t *rows, int lanes, int lane,
                                       const epilogue_channel *c, const s_epilogue *last) {
    int32_t shift = s_shift(c->shift), left = shift > 0 ? shift : 0, right = left - shift;
    if (qn_rounding(last->profile) == QN_SINGLE) {
        rows[RIGHT * lanes + lane] = 31 - shift;
        rows[LEFT * lanes + lane] = qn_release(last->profile) == QN_RELEASE_700;
        epilogue_pack_add(rows, lanes, lane, INT64_C(1) << (30 - shift));
        return;
    }
    rows[LEFT * lanes + lane] = left;
    rows[RIGHT * lanes + lane] = right;
    rows[NUDGE * lanes + lane] = qn_wrap32(qn_shl(1, right) >> 1);
}

/* Channel `lane` of a vector of `lanes`, quick or exact. 0: it cannot be quick. */
static inline int epilogue_pack_lane(int32_t *rows, int lanes, int lane, epilogue_kind kind,
                                     const epilogue_channel *c, const s_epilogue *last) {
    if (kind == EPILOGUE_QUICK && !epilogue_is_quick(c, last)) {
        return 0;
    }
    rows[MULTIPLIER * lanes + lane] = c->multiplier;
    if (lane % 2) {
        rows[MULT_ODD * lanes + lane - 1] = c->multiplier;
    }
    if (kind == EPILOGUE_QUICK) {
        epilogue_pack_quick(rows, lanes, lane, c, last);
    } else {
        epilogue_pack_exact(rows, lanes, lane, c, last);
    }
    return 1;
}

/* Of channels that share their pair the rows are read once. */
static inline void epilogue_pack_alike(int32_t *rows, int lanes, int64_t vectors) {
    const int64_t dwords = EPILOGUE_ROWS * (int64_t)lanes;
    int alike = 1;
    for (int64_t v = 1; v < vectors && alike; v++) {
        alike = memcmp(rows, rows + v * dwords, (size_t)dwords * sizeof *rows) == 0;
    }
    rows[KIND * lanes + ALIKE] = alike;
}

/* The shift that the channel of a lane was given. */
static inline int32_t epilogue_shift(const int32_t *rows, int lanes, int lane, epilogue_kind kind,
                                     const s_epilogue *last) {
    const int32_t right = rows[RIGHT * lanes + lane], left = rows[LEFT * lanes + lane];
    if (kind == EPILOGUE_QUICK) {
        return -right;
    }
    return qn_rounding(last->profile) == QN_SINGLE ? 31 - right : left - right;
}

#endif
