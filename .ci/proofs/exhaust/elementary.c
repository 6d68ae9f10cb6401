/* Compares exponentials and reciprocals of csrc/common/elementary.h, over their whole domain, with
 * gemmlowp's definitions and with the exact results. The definitions are written here on 64 bits, with
 * gemmlowp's saturations.
 *
 * usage: elementary FIRST STEP   (every STEP-th argument from FIRST on) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/elementary.h"

static inline int64_t sat(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
}

/* SaturatingRoundingDoublingHighMul: a nudge, then a quotient toward zero. */
static inline int64_t high_mul(int64_t a, int64_t b) {
    const int64_t product = a * b, half = INT64_C(1) << 30;
    return sat((product + (product >= 0 ? half : 1 - half)) / (INT64_C(1) << 31));
}

/* RoundingDivideByPOT: halves away from zero. */
static inline int64_t divide(int64_t x, int exponent) {
    const int64_t half = exponent > 0 ? INT64_C(1) << (exponent - 1) : 0;
    return x >= 0 ? (x + half) >> exponent : -((-x + half) >> exponent);
}

/* SaturatingRoundingMultiplyByPOT, of a positive exponent. */
static inline int64_t multiply(int64_t x, int exponent) {
    return sat(x * (INT64_C(1) << exponent));
}

static inline int64_t wanted_exponential(int64_t t, int bits) {
    static const int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                      39332535,   720401,     242};
    const int64_t quarter = INT64_C(1) << (29 - bits);
    if (t == 0) {
        return INT32_MAX;
    }
    const int64_t within = (t & (quarter - 1)) - quarter, x = multiply(within, bits) + (1 << 28);
    const int64_t x2 = high_mul(x, x), x3 = high_mul(x2, x), x4 = high_mul(x2, x2);
    const int64_t tail = high_mul(divide(x4, 2) + x3, 715827883) + x2;
    int64_t result = sat(1895147668 + high_mul(1895147668, x + divide(tail, 1)));
    for (int k = 0; k < bits + 2; k++) {
        if ((within - t) >> (29 - bits + k) & 1) {
            result = high_mul(result, factors[k]);
        }
    }
    return result;
}

/* 2/(1 + v), in Q2.29. */
static inline int64_t wanted_twice_reciprocal(int64_t v) {
    const int64_t d = (v + INT32_MAX + 1) / 2; /* RoundingHalfSum(v, one): of 2^31 - 1, halves up */
    int64_t x = sat(1515870810 + high_mul(d, -1010580540));
    for (int i = 0; i < 3; i++) {
        x = sat(x + multiply(high_mul(x, sat((1 << 29) - high_mul(d, x))), 2));
    }
    return x;
}

static long wrong;

static void say(const char *name, int64_t argument, int64_t got, int64_t wanted) {
    if (wrong++ < 5) {
        printf("%s(%lld) = %lld, not %lld\n", name, (long long)argument, (long long)got,
               (long long)wanted);
    }
}

/* The largest error against e^t, in units of 2^-31. */
static double check_exponential(int bits, int64_t first, int64_t step) {
    double most = 0;
    for (int64_t t = -first; t >= INT32_MIN; t -= step) {
        const int64_t got = qn_exp_negative((int32_t)t, bits), wanted = wanted_exponential(t, bits);
        if (got != wanted) {
            say("qn_exp_negative", t, got, wanted);
        }
        if ((t & 1023) == 0) {
            const double error =
                fabs((double)got - 0x1p31 * exp((double)t / (double)(INT64_C(1) << (31 - bits))));
            most = error > most ? error : most;
        }
    }
    return most;
}

static double check_reciprocal(int64_t first, int64_t step) {
    double most = 0;
    for (int64_t v = first; v <= INT32_MAX; v += step) {
        const int64_t twice = qn_twice_reciprocal((int32_t)v), wanted = wanted_twice_reciprocal(v);
        const int64_t got = qn_reciprocal((int32_t)v);
        if (twice != wanted) {
            say("qn_twice_reciprocal", v, twice, wanted);
        }
        if (got != multiply(wanted, 1)) {
            say("qn_reciprocal", v, got, multiply(wanted, 1));
        }
        const double error = fabs((double)got - 0x1p62 / (0x1p31 + (double)v));
        most = error > most ? error : most;
    }
    return most;
}

int main(int argc, char **argv) {
    const int64_t first = argc > 1 ? atoll(argv[1]) : 0, step = argc > 2 ? atoll(argv[2]) : 1;
    const double four = check_exponential(4, first, step), five = check_exponential(5, first, step);
    const double reciprocal = check_reciprocal(first, step);
    printf(
        "every %lld-th argument: errors up to %.0f and %.0f of e^t, %.1f of 1/(1 + v), times "
        "2^-31; %ld differ\n",
        (long long)step, four, five, reciprocal, wrong);
    return wrong > 0 || four > 700 || five > 700 || reciprocal > 20;
}
