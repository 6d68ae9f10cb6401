/* Convolutions of the s8 API on cores with Helium: which pixels it computes together.
 *
 * Pixels come in stretches: those of a sample (QN_S_ANY), of an output row (QN_S_1X1), of all
 * samples (QN_S_1X1_FAST), or the left, the middle and the right columns of a sample (QN_S_1XN). Of
 * a stretch four pixels at a time are in the lanes of a vector. Of the one to three that are left
 * over, each for itself, four channels of its group at a time are; the channels that are left over
 * are not. It shows where the library is built for single rounding (qn_requantize_lane()), and a
 * shift is 0 or more: then lanes hold the sum times 2^(shift + 1) modulo 2^32.
 *
 * s4: the left and right columns of one row are computed alone. Elsewhere two or three pixels that
 * are left over are requantized by qn_requantize_twice() in a build for single rounding. Example:
 * 1x1, one channel, weight 1, multiplier 2^30, shift -1: of two pixels, inputs of 1 give 1, of four
 * pixels 0. */
#ifndef QN_S_CONVOLVE_HELIUM_H
#define QN_S_CONVOLVE_HELIUM_H

#include "convolve_row.h"

/* A pixel of a stretch of so many. */
typedef struct s_place {
    int64_t pixel, pixels;
} s_place;

static inline s_place s_place_in_row(const qn_s_conv *p, const s_row *r, int32_t x) {
    const int32_t right = p->output_w - r->right;
    if (x < r->left) {
        return (s_place){x, r->left};
    }
    return x < right ? (s_place){x - r->left, right - r->left} : (s_place){x - right, r->right};
}

/* r: of a convolution of one row. */
static inline s_place s_place_of(const qn_s_conv *p, const s_row *r, int32_t n, int32_t y,
                                 int32_t x) {
    const s_place of_sample = {(int64_t)y * p->output_w + x, (int64_t)p->output_h * p->output_w};
    switch (s_route(p)) {
        case QN_S_1X1:
            return (s_place){x, p->output_w};
        case QN_S_1X1_FAST:
            return (s_place){n * of_sample.pixels + of_sample.pixel, p->batches * of_sample.pixels};
        case QN_S_1XN:
            return r->split ? s_place_in_row(p, r, x) : of_sample;
        default:
            return of_sample;
    }
}

/* Pixels at the end of a stretch that are no four: 1 to 3; 0 of a pixel that is not among them. */
static inline int s_left_over(s_place at) {
    int rest = (int)(at.pixels % 4);
    return at.pixel >= at.pixels - rest ? rest : 0;
}

/* Is the sum of channel o, of a group of so many, in a lane? alone: does its pixel come alone? */
static inline int s_in_lane(int alone, int32_t o, int32_t channels) {
    return !alone || o < channels - channels % 4;
}

#endif
