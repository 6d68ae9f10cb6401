/* Sigmoid and tanh of the s16 API (arm_nn_activation_s16; inside of the LSTM; and LOGISTIC and TANH
 * of TensorFlow Lite Micro, which differ in how they come to v). With T of activation_tables.h:
 *
 *   v = x * 3 * 2^left_shift                                  left_shift >= 0
 *   v = floor((x * 3 + 2^(-left_shift - 1)) / 2^-left_shift)  left_shift < 0
 *   i = |v| >> k,  k = 9 of sigmoid, 8 of tanh
 *   r = (T[i] << k) + (|v| mod 2^k) * (T[i + 1] - T[i]);  0x7fff << 10 or 0xffff << 8 if i >= 255
 *   sigmoid  out = (v >= 0 ? r : 2^25 - r - 1) + 2^9 >> 10
 *   tanh     out = (v >= 0 ? r - 2^23 : 2^23 - r - 1) + 2^7 >> 8
 *
 * Axes: one vector of `size` elements, 0..2^30 - 1. left_shift -30..14, so that v stays inside of
 * 32 bits; type 0 sigmoid, 1 tanh. An LSTM has left_shift 0, and cell_scale_power + 12 for its
 * output. In place or not. Scratch: none. All cores and both roundings give the same bits. */
#ifndef QN_S_ACTIVATION_H
#define QN_S_ACTIVATION_H

#include "../affine.h"
#include "activation_tables.h"
#include "kernels.h"

/* Table index of an input of arm_nn_activation_s16. */
static inline int32_t s_activation_input(int16_t x, int32_t left_shift) {
    if (left_shift >= 0) {
        return qn_wrap32(qn_shl(x * 3, left_shift));
    }
    return qn_asr(x * 3 + qn_wrap32(qn_shl(1, -left_shift - 1)), -left_shift);
}

/* r of |v|, below 2^25; k: bits between two entries; most: after the last of them. */
static inline int32_t s_activation_table(int32_t v, int k, int32_t most) {
    int32_t size = v < 0 ? -v : v, i = qn_asr(size, k);
    if (i >= 255) {
        return most;
    }
    int32_t entry = s_sigmoid_u16[i], next = s_sigmoid_u16[i + 1];
    return entry * (1 << k) + (size & ((1 << k) - 1)) * (next - entry);
}

static inline int16_t s_sigmoid_s16(int32_t v) {
    int32_t r = s_activation_table(v, 9, 0x7fff << 10);
    return qn_wrap16(qn_asr((v < 0 ? (1 << 25) - 1 - r : r) + (1 << 9), 10));
}

static inline int16_t s_tanh_s16(int32_t v) {
    int32_t r = s_activation_table(v, 8, 0xffff << 8) - (1 << 23);
    return qn_wrap16(qn_asr((v < 0 ? -r - 1 : r) + (1 << 7), 8));
}

#endif
