/* The addresses of a step's pixels, for sums_<isa>.inc. */
#ifndef QN_NPU_SUMS_AT_H
#define QN_NPU_SUMS_AT_H

#include <stddef.h>
#include <stdint.h>

/* The first pixel in the images of low and of high; bytes to the next pixel, once and times
 * three. */
typedef struct sums_at {
    const uint8_t *low, *high;
    ptrdiff_t step, step3, half, half3;
} sums_at;

#endif
