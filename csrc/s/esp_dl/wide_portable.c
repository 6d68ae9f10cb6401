/* Layers of ESP-DL of 16 bits, by sums that compilers make vectors of. */
#include "weighted.h"

static int64_t sum_products(const int16_t *x, const int16_t *w, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * w[i];
    }
    return sum;
}

#define WIDE(name) s_dl_##name##_s16_portable
#include "wide.inc"
