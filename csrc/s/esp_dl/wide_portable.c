/* Layers of ESP-DL of 16 bits, by sums that compilers make vectors of. */
#include "weighted.h"

static int64_t sum_products(const int16_t *x, const int16_t *w, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * w[i];
    }
    return sum;
}

#include "wide.inc"

int s_dl_convolve_s16_portable(const void *params, const qn_buffers *b) {
    return convolve(params, b);
}

int s_dl_dense_s16_portable(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->weights);
}

int s_dl_matmul_s16_portable(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->in[1]);
}
