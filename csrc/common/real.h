/* Functions of float32, each rounded once: exp, expm1, log, sin, cos, tanh, sqrt, pow. And floor
 * and fmod, which are exact.
 *
 * Series in pairs (pair.h) have an error below 2^-66 of the result, while no result of a float32,
 * but for exact ones, is so near to the middle between two float32: what is rounded here is what
 * the float is rounded to, on every host. A NaN gives a NaN, of which no bits are promised. */
#ifndef QN_REAL_H
#define QN_REAL_H

#include "pair.h"

static inline float qn_exp_f32(float x) {
    if (x != x || x > 89 || x < -104) {
        return x > 0 ? qn_infinity() : x < 0 ? 0.0f : x;
    }
    int n;
    qn_pair rest = qn_minus_ln2(x, &n);
    return qn_pair_to_float(qn_series(rest, 1, 1), n);
}

static inline float qn_expm1_f32(float x) {
    if (x != x || x > 89 || x < -104) {
        return x > 0 ? qn_infinity() : x < 0 ? -1.0f : x;
    }
    return x == 0 ? x : qn_pair_to_float(qn_expm1_pair(x), 0);
}

/* (e^2x - 1) / (e^2x + 1) of |x|; 1 from where the next float32 is nearer to 1. */
static inline float qn_tanh_f32(float x) {
    double size = x < 0 ? -(double)x : x;
    if (x != x || x == 0 || size > 10) {
        return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    }
    qn_pair above = qn_expm1_pair(2 * size);
    qn_pair ratio = qn_pair_div(above, qn_pair_add(above, (qn_pair){2, 0}));
    float result = qn_pair_to_float(ratio, 0);
    return x < 0 ? -result : result;
}

/* log(x), 0 < x < infinity: x = m * 2^e, sqrt(1/2) < m < sqrt(2): e * ln 2 + 2 * atanh(t),
 * t = (m - 1) / (m + 1), |t| < 0.172. */
static inline qn_pair qn_log_pair(float x) {
    uint64_t bits = qn_bits_of_double(x);
    int e = (int)(bits >> 52) - 1023;
    double m = (double)x * qn_power_of_two(-e);
    if (m > 0x1.6a09e6p0) {
        m *= 0.5;
        e++;
    }
    qn_pair t = qn_pair_div((qn_pair){m - 1, 0}, (qn_pair){m + 1, 0}), z = qn_pair_mul(t, t);
    double tail = 0;
    int k = 14;
    for (; k >= 4; k--) {
        tail = 1.0 / (2 * k + 1) + z.hi * tail;
    }
    qn_pair sum = {tail, 0};
    for (; k >= 0; k--) {
        const qn_pair term = qn_pair_div((qn_pair){1, 0}, (qn_pair){2 * k + 1, 0});
        sum = qn_pair_add(term, qn_pair_mul(z, sum));
    }
    sum = qn_pair_mul((qn_pair){2 * t.hi, 2 * t.lo}, sum);
    qn_pair whole = {e * qn_ln2_hi, e * qn_ln2_lo};
    return qn_pair_add(whole, sum);
}

static inline float qn_log_f32(float x) {
    if (!(x > 0) || x == qn_infinity()) {
        return x > 0 ? x : x == 0 ? -qn_infinity() : qn_nan();
    }
    return qn_pair_to_float(qn_log_pair(x), 0);
}

/* x - n * pi/2 with the nearest n, of which the last two bits are put; x finite.
 * x * 2/pi is a sum of exact products with 24 bits of 2/pi each, of which multiples of 4 are left
 * out; what is left of x is no nearer to 0 than 2^-32, and the sum is exact to 2^-100. */
static inline qn_pair qn_minus_half_pi(float x, int *n) {
    static const int32_t two_over_pi[] = {
        0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62,
        0x95993c, 0x439041, 0xfe5163, 0xabdebb, 0xc561b7,
    };
    *n = 0;
    if (x < 0.78125f && x > -0.78125f) {
        return (qn_pair){x, 0};
    }
    qn_pair turns = {0, 0};
    for (int i = 0; i < 11; i++) {
        double part = (double)x * two_over_pi[i] * qn_power_of_two(-24 * (i + 1));
        if (part < 0x1p49 && part > -0x1p49) { /* of 48 bits: else a multiple of 4 */
            part -= 4 * (double)(int64_t)(part * 0.25);
            qn_pair sum = qn_sum(turns.hi, part);
            turns = (qn_pair){sum.hi, sum.lo + turns.lo};
        }
    }
    *n = (int)(turns.hi + (turns.hi < 0 ? -0.5 : 0.5));
    turns = qn_sum(turns.hi - *n, turns.lo);
    return qn_pair_mul(turns, (qn_pair){0x1.921fb54442d18p0, 0x1.1a62633145c07p-54});
}

/* sin(x + quarter * pi/2). */
static inline float qn_sine(float x, int quarter) {
    if (!(x - x == 0)) {
        return qn_nan();
    }
    int n;
    qn_pair rest = qn_minus_half_pi(x, &n), square = qn_pair_mul(rest, rest);
    const qn_pair z = {-square.hi, -square.lo};
    n += quarter;
    if (x == 0 && quarter == 0) {
        return x;
    }
    qn_pair sine = n & 1 ? qn_series(z, 1, 2) : qn_pair_mul(rest, qn_series(z, 2, 2));
    float result = qn_pair_to_float(sine, 0);
    return n & 2 ? -result : result;
}

static inline float qn_sin_f32(float x) { return qn_sine(x, 0); }
static inline float qn_cos_f32(float x) { return qn_sine(x, 1); }

/* Newton's steps for x = m * 4^e, 1 <= m < 4: no root is within 2^-50 of a middle of two float32.
 * */
static inline float qn_sqrt_f32(float x) {
    if (!(x > 0) || x == qn_infinity()) {
        return x < 0 ? qn_nan() : x;
    }
    int e = (int)(qn_bits_of_double(x) >> 52) - 1023;
    e -= e & 1;
    double m = (double)x * qn_power_of_two(-e), root = 0.5 + 0.5 * m;
    for (int step = 0; step < 5; step++) {
        root = 0.5 * (root + m / root);
    }
    return (float)(root * qn_power_of_two(e / 2));
}

/* The largest integer that is not above x. */
static inline float qn_floor_f32(float x) {
    if (!(x < 0x1p23f && x > -0x1p23f) || x == 0) {
        return x; /* an integer, or no number */
    }
    int32_t below = (int32_t)x;
    const float nearest = (float)below; /* exact */
    return nearest > x ? nearest - 1.0f : nearest;
}

/* The same of a double: of a quotient, say. */
static inline double qn_floor_f64(double x) {
    if (!(x < 0x1p52 && x > -0x1p52) || x == 0) {
        return x;
    }
    int64_t below = (int64_t)x;
    return (double)(below - ((double)below > x));
}

/* |x| = m * 2^e with m below 2^24; x finite. */
static inline uint32_t qn_parts_of_float(float x, int *e) {
    const uint32_t bits = qn_bits_of_float(x), exponent = bits >> 23 & 0xff;
    *e = (int)(exponent ? exponent : 1) - 150;
    return (bits & 0x7fffff) | (exponent ? 1u << 23 : 0);
}

/* a - n * b with the n toward zero, exactly: the remainder of m_a * 2^(e_a - e_b) by m_b, 40 bits
 * at a time, or of m_a by m_b * 2^(e_b - e_a). NaN for an infinite a, or b = 0. */
static inline float qn_fmod_f32(float a, float b) {
    const float size = qn_float_of_bits(qn_bits_of_float(b) & 0x7fffffff);
    if (!(a - a == 0) || !(size > 0)) {
        return qn_nan();
    }
    if (size == qn_infinity() || (a < size && a > -size)) {
        return a;
    }
    int e_a, e_b;
    const uint64_t of_b = qn_parts_of_float(b, &e_b);
    uint64_t rest = qn_parts_of_float(a, &e_a) % of_b; /* e_a >= e_b, as |a| >= |b| */
    for (int left = e_a - e_b; left > 0; left -= 40) {
        rest = (rest << (left < 40 ? left : 40)) % of_b;
    }
    const float result = (float)((double)rest * qn_power_of_two(e_b));
    return qn_bits_of_float(a) >> 31 ? -result : result;
}

/* x^y of y = 0, 1, ... 25 if a double is exactly that; 0 otherwise. A middle between two float32 is
 * a power of 25 bits, which a double is. */
static inline double qn_exact_power(double x, float y) {
    double power = y == qn_floor_f32(y) && y >= 0 && y <= 25;
    for (int i = 0; power != 0 && i < (int)y; i++) {
        const qn_pair product = qn_product(power, x);
        power = product.lo == 0 ? product.hi : 0;
    }
    return power;
}

/* x^y, 0 < x < infinity, y finite. Roots that are exact make y an integer. */
static inline float qn_positive_pow(float x, float y) {
    for (float root = qn_sqrt_f32(x); y != qn_floor_f32(y) && (double)root * root == x;) {
        x = root;
        y = (float)(2.0 * y);
        root = qn_sqrt_f32(x);
    }
    const double power = qn_exact_power(x, y);
    if (power != 0) {
        return qn_pair_to_float((qn_pair){power, 0}, 0);
    }
    const qn_pair exponent = qn_pair_mul(qn_log_pair(x), (qn_pair){y, 0});
    if (!(exponent.hi < 89 && exponent.hi > -104)) {
        return exponent.hi > 0 ? qn_infinity() : 0.0f;
    }
    const int n = (int)(exponent.hi * 0x1.71547652b82fep0 + (exponent.hi < 0 ? -0.5 : 0.5));
    const qn_pair rest = qn_pair_add(qn_sum(exponent.hi, -(n * qn_ln2_hi)),
                                     (qn_pair){exponent.lo - n * qn_ln2_lo, 0});
    return qn_pair_to_float(qn_series(rest, 1, 1), n);
}

/* x^y, both finite. */
static inline float qn_pow_f32(float x, float y) {
    if (y == 0 || x == 1) {
        return 1;
    }
    if (x == 0) {
        return y > 0 ? 0.0f : qn_infinity();
    }
    if (x > 0) {
        return qn_positive_pow(x, y);
    }
    if (y != qn_floor_f32(y)) {
        return qn_nan();
    }
    const float size = qn_positive_pow(-x, y);
    return qn_floor_f64(0.5 * y) * 2 == y ? size : -size;
}

#endif
