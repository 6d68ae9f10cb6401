/* Checks high parts of the NPU's 16-bit products (csrc/wuqi/hi_lo_split_pack.inc) for every pair.
 *
 * With w = 256 * wh + wl and x = 256 * xh + xl, a product is 2^16 * xh * wh + 256 * xh * wl + xl * w.
 * high_suffices() bounds the last two terms by 2^15 * |wl| + 2^7 * |w|, with xl counted from 127.5.
 * If high is x * wh, the rest is at most 2^15 * |wl|.
 *
 * usage: parts */
#include <stdio.h>
#include <stdlib.h>

#include "wuqi/convolve_s16_avx512.c"

static long wrong;

static void check(int holds, const char *what, long a, long b) {
    if (!holds && wrong++ < 5) {
        printf("%s: %ld, %ld\n", what, a, b);
    }
}

int main(void) {
    long pairs = 0;
    for (long w = INT16_MIN; w <= INT16_MAX; w++) {
        const long wh = high_of((int32_t)w), wl = w - 256 * wh;
        check(wh >= -128 && wh <= 127 && (labs(wl) <= 128 || wh == 127), "high_of", w, wh);
        for (long x = INT16_MIN; x <= INT16_MAX; x++, pairs++) {
            const long xh = x >> 8, twice = 2 * (x * w - 65536 * xh * wh) - 255 * w;
            const long limit = 2 * ((labs(wl) << 15) + (labs(w) << 7));
            const long rest = x * w - 256 * x * wh;
            if ((twice > limit) | (twice < -limit) | (labs(rest) > labs(wl) << 15)) {
                check(0, "high", w, x);
            }
        }
    }
    printf("%ld pairs of 16-bit numbers; %ld differ\n", pairs, wrong);
    return wrong > 0;
}
