/* Images and vectors as the engine of gemm/ reads them. Included after
 *   element                           int8_t or int16_t: of image and output
 *   pixel, weight, PER_STEP, OFFSET   how the engine holds image (element + OFFSET) and weights, and
 *                                     how many of either a dword holds
 * An offset makes elements unsigned; start[] takes OFFSET * sum of weights out. */
#ifndef QN_Q_PIXELS_FAST_H
#define QN_Q_PIXELS_FAST_H

#include <stdint.h>

/* Bytes that the last step of a run may read behind it. */
enum { SLACK = 64 };

static void fill(pixel *to, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = OFFSET;
    }
}

static void copy(pixel *to, const element *from, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = (pixel)(from[i] + OFFSET);
    }
}

#endif
