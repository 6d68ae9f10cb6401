/* What the output stages of s8 read for each vector of channels: rows of as many dwords as it has
 * lanes, made once, at plan time.
 *
 *                    double rounding             single rounding
 *   LEFT             max(shift, 0)               -
 *   RIGHT            max(-shift, 0)              30 - shift
 *   NUDGE            2^RIGHT / 2, rounded down   -
 *   MULTIPLIER       multiplier
 *   MULTIPLIER_ODD   the odd lanes' multipliers, each in the lane before: where VPMULDQ reads */
#ifndef QN_S_STAGE_ROWS_H
#define QN_S_STAGE_ROWS_H

#include "affine.h"

enum { LEFT, RIGHT, NUDGE, MULTIPLIER, MULTIPLIER_ODD, STAGE_ROWS };

/* Channel `lane` of a vector of `lanes`. */
static inline void stage_pack_lane(int32_t *rows, int lanes, int lane, int32_t profile,
                                   int32_t multiplier, int32_t shift) {
    int32_t bounded = s_shift(shift), left = bounded > 0 ? bounded : 0, right = left - bounded;
    int single = qn_rounding(profile) == QN_SINGLE;
    rows[LEFT * lanes + lane] = left;
    rows[RIGHT * lanes + lane] = single ? 30 - bounded : right;
    rows[NUDGE * lanes + lane] = qn_wrap32((1u << right) >> 1);
    rows[MULTIPLIER * lanes + lane] = multiplier;
    if (lane % 2) {
        rows[MULTIPLIER_ODD * lanes + lane - 1] = multiplier;
    }
}

#endif
