/* A pair is the sum of two doubles, hi + lo with |lo| at most half of hi's last place: 100 bits or
 * more, by +, -, * and / of doubles that are rounded to nearest and not fused. Where a compiler
 * keeps more bits of a double than it has, errors are no larger. */
#ifndef QN_PAIR_H
#define QN_PAIR_H

#include <string.h>

#include "fixed.h"

typedef struct qn_pair {
    double hi, lo;
} qn_pair;

static inline float qn_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t qn_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double qn_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t qn_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float qn_infinity(void) { return qn_float_of_bits(0x7f800000); }
static inline float qn_nan(void) { return qn_float_of_bits(0x7fc00000); }

/* 2^n, -1022 <= n <= 1023. */
static inline double qn_power_of_two(int n) {
    return qn_double_of_bits((uint64_t)(n + 1023) << 52);
}

/* ---- pairs ---- */

/* a + b, exactly: |a| >= |b|, or any two. */
static inline qn_pair qn_fast_sum(double a, double b) {
    double sum = a + b, rest = b - (sum - a);
    return (qn_pair){sum, rest};
}

static inline qn_pair qn_sum(double a, double b) {
    double sum = a + b, of_b = sum - a, of_a = sum - of_b;
    return (qn_pair){sum, (a - of_a) + (b - of_b)};
}

/* The upper 26 bits of x, so that products of such are exact. */
static inline double qn_upper(double x) {
    return qn_double_of_bits(qn_bits_of_double(x) >> 27 << 27);
}

/* a * b, exactly. */
static inline qn_pair qn_product(double a, double b) {
    double product = a * b;
    double a_hi = qn_upper(a), b_hi = qn_upper(b), a_lo = a - a_hi, b_lo = b - b_hi;
    double rest = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    return (qn_pair){product, rest};
}

static inline qn_pair qn_pair_add(qn_pair a, qn_pair b) {
    qn_pair sum = qn_sum(a.hi, b.hi);
    return qn_fast_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

static inline qn_pair qn_pair_mul(qn_pair a, qn_pair b) {
    qn_pair product = qn_product(a.hi, b.hi);
    return qn_fast_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline qn_pair qn_pair_div(qn_pair a, qn_pair b) {
    double quotient = a.hi / b.hi;
    qn_pair back = qn_product(quotient, b.hi);
    double rest = ((a.hi - back.hi) - back.lo) + (a.lo - quotient * b.lo);
    return qn_fast_sum(quotient, rest / b.hi);
}

/* x * 2^n rounded to float32, -160 <= n <= 160: first to a double whose last bit is 1 if that is
 * not exact, which keeps the side of every middle. */
static inline float qn_pair_to_float(qn_pair x, int n) {
    double nearest = x.hi + x.lo, rest = x.lo - (nearest - x.hi);
    uint64_t bits = qn_bits_of_double(nearest);
    if (rest != 0 && !(bits & 1)) {
        bits = (rest > 0) == (nearest > 0) ? bits + 1 : bits - 1;
    }
    double odd = qn_double_of_bits(bits) * qn_power_of_two(n), most = 0x1.ffffffp127;
    if (odd >= most || odd <= -most) {
        return odd > 0 ? qn_infinity() : -qn_infinity();
    }
    return (float)odd;
}

/* ---- series ---- */

/* 1 + z/d(first) * (1 + z/d(first + step) * (1 + ...)), up to n = 22, with d(n) = n where step is 1
 * and n * (n + 1) where it is 2; |z|^n of that many factors below 0.79^n. From the eighth factor on
 * a double is precise enough. */
static inline qn_pair qn_series(qn_pair z, int first, int step) {
    int n = first + (22 - first) / step * step;
    double tail = 1;
    for (; n >= 8; n -= step) {
        tail = 1 + z.hi / (step == 1 ? n : n * (n + 1)) * tail;
    }
    qn_pair sum = {tail, 0};
    for (; n >= first; n -= step) {
        const qn_pair divisor = {step == 1 ? n : n * (n + 1), 0};
        sum = qn_pair_mul(qn_pair_div(z, divisor), sum);
        sum = qn_pair_add((qn_pair){1, 0}, sum);
    }
    return sum;
}

static const double qn_ln2_hi = 0x1.62e42fefa38p-1, qn_ln2_lo = 0x1.ef35793c7673p-45;

/* x - n * ln 2 with the nearest n; |x| < 2^7, of 25 bits. */
static inline qn_pair qn_minus_ln2(double x, int *n) {
    *n = (int)(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
    return qn_sum(x - *n * qn_ln2_hi, -(*n * qn_ln2_lo)); /* hi has 42 bits: exact products */
}

/* e^x - 1 for |x| < 2^7, of 25 bits. */
static inline qn_pair qn_expm1_pair(double x) {
    int n;
    qn_pair rest = qn_minus_ln2(x, &n);
    if (n == 0) {
        return qn_pair_mul(rest, qn_series(rest, 2, 1));
    }
    qn_pair power = qn_series(rest, 1, 1);
    double scale = qn_power_of_two(n);
    return qn_pair_add((qn_pair){power.hi * scale, power.lo * scale}, (qn_pair){-1, 0});
}

#endif
