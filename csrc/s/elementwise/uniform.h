/* One multiplier and shift for all elements of a vector, as fast rows hold them.
 *
 * With a = x * 2^left, |a| < 2^30, and n = -shift >= 0, the sum of epilogue_channel.h without the
 * output's offset: T = floor((2 * a * multiplier + add) / 2^32) = HM + 2^n / 2, where add = 2^31 +
 * 2^(31+n) for n > 0; then RDP(HM, n) = floor((T - (T < nudge)) / 2^n), nudge = 2^(n-1). n = 0 has
 * add = 2^31 and a nudge that nothing is below. */
#ifndef QN_S_UNIFORM_H
#define QN_S_UNIFORM_H

#include "../affine.h"
#include "kernels.h"

typedef struct s_uniform {
    int64_t add;
    int32_t multiplier, left, right, nudge;
} s_uniform;

/* left: bits that elements are shifted up beforehand. shift: 0 or less. */
static inline s_uniform s_uniform_of(int32_t multiplier, int32_t left, int32_t shift) {
    const int32_t n = -shift;
    const int64_t half = INT64_C(1) << 31;
    return (s_uniform){.add = n > 0 ? half + (half << n) : half,
                       .multiplier = multiplier,
                       .left = left + 1,
                       .right = n,
                       .nudge = n > 0 ? (int32_t)qn_shl(1, n - 1) : INT32_MIN};
}

/* The three of a sum: of either input, and of the output. */
typedef struct s_add_parts {
    s_uniform x, y, out;
    const qn_s_add *p;
} s_add_parts;

static inline s_add_parts s_add_parts_of(const qn_s_add *p) {
    return (s_add_parts){
        s_uniform_of(p->input_1_mult, p->left_shift, p->input_1_shift),
        s_uniform_of(p->input_2_mult, p->left_shift, p->input_2_shift),
        s_uniform_of(p->out_mult, 0, p->out_shift),
        p,
    };
}

/* Fast rows round twice, and know nothing of the DSP extension's halfwords. */
static inline int s_add_is_usual(const qn_s_add *p) {
    return qn_rounding(p->profile) == QN_DOUBLE && (p->left_shift >= 16 || !qn_is_dsp(p->profile));
}

static inline int s_mul_is_usual(const qn_s_mul *p) {
    return qn_rounding(p->profile) == QN_DOUBLE && p->out_shift <= 0;
}

#endif
