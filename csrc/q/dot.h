/* Sums of products modulo 2^32, as the plain convolutions and fully connected layers compute them
 * between bias and output shift. One product fits an int32_t ((-32768)^2 = 2^30). A sum may not, so
 * it is a uint32_t. */
#ifndef QN_Q_DOT_H
#define QN_Q_DOT_H

#include "../common/fixed.h"

static inline uint32_t q_dot_q7(const int8_t *a, const int8_t *b, int32_t length) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < length; i++) {
        sum += (uint32_t)(a[i] * b[i]);
    }
    return sum;
}

static inline uint32_t q_dot_q15(const int16_t *a, const int16_t *b, int32_t length) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < length; i++) {
        sum += (uint32_t)(a[i] * b[i]);
    }
    return sum;
}

static inline uint32_t q_dot_q7_q15(const int8_t *a, const int16_t *b, int32_t length) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < length; i++) {
        sum += (uint32_t)(a[i] * b[i]);
    }
    return sum;
}

#endif
