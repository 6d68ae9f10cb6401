/* A sum of s8 elements as one linear form of both, and the proof that it is exact: all 65536 pairs
 * are tried at plan time.
 *
 *   out = clamp(floor((x * s.x + y * s.y + s.start) / 2^s.bits), act_min, act_max)
 *
 * s.x and s.y are the real factors of either input times 2^bits, or close by; start holds the
 * offsets and the half that rounds. Of either factor's neighbours those are tried first that are a
 * little larger in proportion: ties go away from zero then. What the factors leave between the pair
 * that is nearest to falling below its output and the one nearest to rising above is room for
 * start. */
#ifndef QN_S_SUM_LINEAR_H
#define QN_S_SUM_LINEAR_H

#include "uniform.h"

/* bits: 0 of a sum that no form was found for. */
typedef struct sum_linear {
    int64_t start;
    int32_t x, y, bits;
    int32_t unused; /* 0, so that no byte of a packed call is undefined */
} sum_linear;

/* Range of exact results of a row: the most and least bits; |s.x| and |s.y| below `factor`, |start|
 * below `start`, and that a multiple of `grain`. */
typedef struct sum_room {
    int32_t most_bits, least_bits, factor, grain;
    double start;
} sum_room;

/* The least and the most of x * s.x + y * s.y + s.start - 2^bits * out of all pairs, out without
 * clamping: the least of outs above act_min, the most of those below act_max. Both begin at half of
 * 2^bits. A row that has found 2^bits between them may stop. What wraps on the way does no harm:
 * they fit 32 bits, as three roundings and the distance to the real factors are below 4 * 2^bits.
 * */
typedef struct sum_ends {
    int32_t least, most;
} sum_ends;

typedef sum_ends sum_ends_of(const qn_s_add *p, const sum_linear *s);

/* Made by a row's pack(). */
sum_linear sum_prove(const qn_s_add *p, const sum_room *room, sum_ends_of *ends_of);

#endif
