/* Common parts of the functions with weights of the s8 and s16 API: the last step, and its ranges.
 *
 *   out = clamp(requantize(acc, multiplier, shift) + output_offset, act_min, act_max)
 *
 * with the requantizations of fixed.h. Where each output channel has its own pair, the array `bias`
 * holds three rows of as many elements as there are channels: bias, multiplier, shift; a function
 * without a bias has zeros in the first. Outside the legal ranges nothing is undefined: a shift is
 * read modulo 64 after clamping by s_shift(), a multiplier is as it is.
 *
 * Output offsets are added in 32 bits on every core, so that they need not be zero points of 8
 * bits: S_OFFSET_MOST keeps what was requantized below 2^30 inside of 32 bits. Input and filter
 * offsets stay -127..128, which is minus a zero point: Arm's code adds them in 16 bits on the DSP
 * path, and puts their negatives into bytes next to an image. */
#ifndef QN_S_AFFINE_H
#define QN_S_AFFINE_H

#include "../common/contract.h"
#include "../common/kernels.h"

enum { S_OFFSET_MOST = 1 << 30 };

/* Rows of a per-channel `bias` array. */
typedef struct s_channels {
    const int32_t *bias, *multiplier, *shift;
} s_channels;

static inline s_channels s_channels_of(const void *array, int64_t channels) {
    const int32_t *rows = array;
    return (s_channels){rows, rows + channels, rows + 2 * channels};
}

/* The same where sums have 64 bits: every row of the array does. */
typedef struct s_channels64 {
    const int64_t *bias, *multiplier, *shift;
} s_channels64;

static inline s_channels64 s_channels64_of(const void *array, int64_t channels) {
    const int64_t *rows = array;
    return (s_channels64){rows, rows + channels, rows + 2 * channels};
}

/* The low 32 bits of an element of such a row, or of a sum. */
static inline int32_t s_low(int64_t value) { return qn_wrap32((uint32_t)value); }

/* A shift as the device can have it, -31..30: arrays are not looked at when a plan is checked. */
static inline int32_t s_shift(int32_t shift) { return qn_clamp(shift, -31, 30); }

/* The last step of one sum. */
typedef struct s_epilogue {
    int32_t profile, output_offset, act_min, act_max;
} s_epilogue;

static inline int32_t s_output(const s_epilogue *s, int32_t acc, int32_t multiplier,
                               int32_t shift) {
    int32_t scaled = qn_requantize(s->profile, acc, multiplier, s_shift(shift));
    return qn_clamp(qn_add32(scaled, s->output_offset), s->act_min, s->act_max);
}

/* The last step of a sum that Helium has in a vector if lane is set. */
static inline int32_t s_output_lane(const s_epilogue *s, int32_t acc, int32_t multiplier,
                                    int32_t shift, int lane) {
    if (!lane || qn_path(s->profile) != QN_PATH_MVE) {
        return s_output(s, acc, multiplier, shift);
    }
    int32_t scaled = qn_requantize_lane(s->profile, acc, multiplier, s_shift(shift));
    return qn_clamp(qn_add32(scaled, s->output_offset), s->act_min, s->act_max);
}

/* Has Helium other sums in lanes, for any of these channels? */
static inline int s_lanes_differ(int32_t profile, const s_channels *q, int64_t channels) {
    if (qn_path(profile) != QN_PATH_MVE || qn_rounding(profile) != QN_SINGLE) {
        return 0;
    }
    for (int64_t o = 0; o < channels; o++) {
        if (q->shift[o] >= 0) {
            return 1;
        }
    }
    return 0;
}

/* The last step of a sum of 64 bits; a shift as the device can have it, -31..7. */
static inline int32_t s_output64(const s_epilogue *s, int64_t acc, int32_t multiplier,
                                 int32_t shift) {
    int32_t scaled = qn_requantize64(acc, multiplier, qn_clamp(shift, -31, 7));
    return qn_clamp(qn_add32(scaled, s->output_offset), s->act_min, s->act_max);
}

/* The ranges of parameters, one after the other. */
typedef struct s_range {
    const char *name;
    int32_t value, low, high;
} s_range;

static inline int s_in_ranges(const s_range *ranges, size_t count, char *why) {
    int status = QN_OK;
    for (size_t i = 0; i < count && status == QN_OK; i++) {
        status = qn_in_range(ranges[i].name, ranges[i].value, ranges[i].low, ranges[i].high, why);
    }
    return status;
}

/* Elements of an array with up to five sides of 1..65535; -1 if its bytes do not fit 31 bits. */
static inline int64_t s_elements(int64_t element, const int32_t *sides, int count) {
    int64_t most = INT32_MAX / element, product = 1;
    for (int i = 0; i < count; i++) {
        product *= sides[i]; /* below 2^31 * 2^16 */
        if (product > most) {
            return -1;
        }
    }
    return product;
}

static inline int s_too_large(const char *what, char *why) {
    return qn_deny(why, QN_REFUSED, "the %s has more than 2^31 - 1 bytes", what);
}

#endif
