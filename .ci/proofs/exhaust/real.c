/* Compares functions of csrc/common/real.h with the exact result rounded once.
 *
 * long double has an error below 2^-61 of the result here. If that does not decide the float32,
 * 113 bits do.
 *
 * usage: real FUNCTION FIRST STEP   (every STEP-th float32 by its bits, from FIRST on) */
#include <math.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/real.h"

typedef struct function {
    const char *name;
    float (*ours)(float);
    long double (*near)(long double);
    __float128 (*exact)(__float128);
} function;

static const function functions[] = {
    {"exp", qn_exp_f32, expl, expq},     {"expm1", qn_expm1_f32, expm1l, expm1q},
    {"log", qn_log_f32, logl, logq},     {"sin", qn_sin_f32, sinl, sinq},
    {"cos", qn_cos_f32, cosl, cosq},     {"tanh", qn_tanh_f32, tanhl, tanhq},
    {"sqrt", qn_sqrt_f32, sqrtl, sqrtq},
};

/* The nearest float32: its long double is exact, and a cast rounds once. */
static float rounded(const function *f, float x, long *open) {
    const long double y = f->near(x);
    const float low = (float)(y * (1 - 0x1p-61L)), high = (float)(y * (1 + 0x1p-61L));
    if (low == high || y != y) {
        return low;
    }
    ++*open;
    return (float)f->exact(x);
}

int main(int argc, char **argv) {
    const function *f = functions;
    while (argc > 1 && strcmp(f->name, argv[1]) != 0) {
        f++;
    }
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    const uint64_t step = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000003;
    long count = 0, open = 0, wrong = 0;
    for (uint64_t bits = first; bits <= UINT32_MAX; bits += step, count++) {
        const float x = qn_float_of_bits((uint32_t)bits), got = f->ours(x),
                    wanted = rounded(f, x, &open);
        if (got != wanted && !(got != got && wanted != wanted) && wrong++ < 5) {
            printf("%s(%a) = %a, not %a\n", f->name, (double)x, (double)got, (double)wanted);
        }
    }
    printf("%s: %ld arguments, %ld of which took 113 bits; %ld differ\n", f->name, count, open,
           wrong);
    return wrong > 0;
}
