/* Every rounding, saturation, wrap-around and shift of integers, each once.
 *
 * Nothing else in csrc/ rounds or saturates. Sums that the device lets wrap are kept in uint32_t:
 * modulo 2^32 they are the device's bits in any order of summation. */
#ifndef QN_FIXED_H
#define QN_FIXED_H

#include "../include/qn.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "qemu_nn needs a little-endian host: buffers are read bytewise in the device's order"
#endif

_Static_assert((-3 >> 1) == -2, "qemu_nn needs an arithmetic right shift of negative numbers");
_Static_assert(((int64_t)-3 >> 1) == -2, "qemu_nn needs the same in 64 bits");
_Static_assert((int32_t)UINT32_MAX == -1, "qemu_nn needs two's complement conversions");

/* x modulo 2^8, 2^16, 2^32, read as two's complement. */
static inline int8_t qn_wrap8(int32_t x) { return (int8_t)(uint8_t)x; }
static inline int16_t qn_wrap16(int32_t x) { return (int16_t)(uint16_t)x; }
static inline int32_t qn_wrap32(uint32_t x) { return (int32_t)x; }

/* x clamped to [low, high]. */
static inline int32_t qn_clamp(int32_t x, int32_t low, int32_t high) {
    return x < low ? low : x > high ? high : x;
}

static inline int64_t qn_clamp64(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* x clamped to the range of int8 or int16 (SSAT). */
static inline int8_t qn_sat8(int32_t x) { return (int8_t)qn_clamp(x, INT8_MIN, INT8_MAX); }
static inline int16_t qn_sat16(int32_t x) { return (int16_t)qn_clamp(x, INT16_MIN, INT16_MAX); }

/* x clamped to [0, 2^bits - 1] (USAT), 0 <= bits <= 30. */
static inline int32_t qn_usat(int32_t x, int bits) {
    return qn_clamp(x, 0, (int32_t)((1u << bits) - 1u));
}

/* x * 2^shift modulo 2^32, 0 <= shift <= 31. */
static inline uint32_t qn_shl(int32_t x, int shift) { return (uint32_t)x << shift; }

/* floor(x / 2^shift), 0 <= shift <= 31. */
static inline int32_t qn_asr(int32_t x, int shift) { return x >> shift; }

/* The same in 64 bits, 0 <= shift <= 63. */
static inline int64_t qn_asr64(int64_t x, int shift) { return x >> shift; }

/* floor(x / n), n > 0. */
static inline int64_t qn_floor_div64(int64_t x, int64_t n) { return x / n - (x % n < 0); }

/* floor(x / 2^shift) of an unsigned x (a logical shift), 0 <= shift <= 31. */
static inline uint32_t qn_lsr(uint32_t x, int shift) { return x >> shift; }

/* a + b, a - b modulo 2^32. */
static inline int32_t qn_add32(int32_t a, int32_t b) {
    return qn_wrap32((uint32_t)a + (uint32_t)b);
}
static inline int32_t qn_sub32(int32_t a, int32_t b) {
    return qn_wrap32((uint32_t)a - (uint32_t)b);
}

/* a + b modulo 2^64. */
static inline int64_t qn_add64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The parts of a profile number. */
static inline int qn_release(int32_t profile) { return (int)profile >> 3; }
static inline int qn_path(int32_t profile) { return (int)(profile >> 1) & 3; }
static inline int qn_rounding(int32_t profile) { return (int)profile & 1; }

/* The rounding term R(s) that is added before >> s:
 *   truncate                 0
 *   nearest, 5.6.0, 5.8.0    floor(2^s / 2)            (the macro shifts an unsigned 1)
 *   nearest, 5.9.0           the same for s <= 30; at s = 31 the signed 1 << 31 gives -2^30
 * so that (x + R(s)) >> s rounds half up. 0 <= s <= 31. */
static inline int32_t qn_round_term(int32_t profile, int shift) {
    if (qn_rounding(profile) == QN_TRUNCATE) {
        return 0;
    }
    uint32_t one = qn_shl(1, shift);
    int is_signed = qn_release(profile) == QN_RELEASE_590;
    return is_signed ? qn_asr(qn_wrap32(one), 1) : (int32_t)(one >> 1);
}

/* sum / n with halves away from zero, n > 0: (|sum| + floor(n / 2)) / n with the sign of sum. */
static inline int32_t qn_mean(int32_t sum, int32_t n) {
    return (sum > 0 ? sum + n / 2 : sum - n / 2) / n;
}

/* Start of an accumulator: (bias << bias_shift) + R(out_shift) modulo 2^32. */
static inline uint32_t qn_acc_start(int32_t bias, int bias_shift, int32_t round_term) {
    return qn_shl(bias, bias_shift) + (uint32_t)round_term;
}

/* End of an accumulator: saturated floor(acc / 2^out_shift), acc read as signed. */
static inline int8_t qn_acc_q7(uint32_t acc, int out_shift) {
    return qn_sat8(qn_asr(qn_wrap32(acc), out_shift));
}
static inline int16_t qn_acc_q15(uint32_t acc, int out_shift) {
    return qn_sat16(qn_asr(qn_wrap32(acc), out_shift));
}

/* ---- s8 and s16: real factors as multiplier * 2^(shift - 31), 2^30 <= multiplier < 2^31 ---- */

/* x / 2^n rounded to nearest, halves away from zero (RDP), 0 <= n <= 31. */
static inline int32_t qn_rdp(int32_t x, int n) {
    int32_t mask = (int32_t)((1u << n) - 1u), rest = x & mask;
    return qn_asr(x, n) + (rest > qn_asr(mask, 1) + (x < 0));
}

/* floor((a * b + 2^30) / 2^31) modulo 2^32: the high half of the doubled product, halves up (HM).
 * |a * b| <= 2^62, so that the sum stays inside 64 bits. */
static inline int32_t qn_hm(int32_t a, int32_t b) {
    return (int32_t)(uint32_t)qn_asr64((int64_t)a * b + (1 << 30), 31);
}

/* The same, saturated: only -2^31 * -2^31 leaves the range. */
static inline int32_t qn_hm_sat(int32_t a, int32_t b) {
    return a == INT32_MIN && b == INT32_MIN ? INT32_MAX : qn_hm(a, b);
}

/* x * multiplier * 2^(shift - 31), -31 <= shift <= 31:
 *   double rounding   RDP(HM(x * 2^max(shift, 0) modulo 2^32, multiplier), max(-shift, 0))
 *   single rounding   floor((floor(x * multiplier / 2^(30 - shift)) + 1) / 2) on 64 bits, read modulo
 *                     2^32 at the end; shift <= 30. 7.0.0 has 32 bits for what it halves, so that
 *                     31 bits with a sign are left: others where the result passes 2^30 */
static inline int32_t qn_requantize_double(int32_t x, int32_t multiplier, int shift) {
    int left = shift > 0 ? shift : 0;
    return qn_rdp(qn_hm(qn_wrap32(qn_shl(x, left)), multiplier), left - shift);
}

static inline int32_t qn_requantize_single(int32_t x, int32_t multiplier, int shift) {
    int64_t twice = qn_asr64((int64_t)x * multiplier, 30 - shift);
    return (int32_t)(uint32_t)qn_asr64(twice + 1, 1);
}

static inline int32_t qn_requantize_single_700(int32_t x, int32_t multiplier, int shift) {
    return qn_asr(qn_wrap32(qn_shl(qn_requantize_single(x, multiplier, shift), 1)), 1);
}

/* True if single rounding leaves 31 bits: before commit ece5a38a of May 2026. */
static inline int qn_has_31_bits(int32_t profile) {
    return qn_release(profile) == QN_RELEASE_700 || qn_release(profile) == QN_RELEASE_600;
}

static inline int32_t qn_requantize(int32_t profile, int32_t x, int32_t multiplier, int shift) {
    if (qn_rounding(profile) == QN_DOUBLE) {
        return qn_requantize_double(x, multiplier, shift);
    }
    return qn_has_31_bits(profile) ? qn_requantize_single_700(x, multiplier, shift)
                                   : qn_requantize_single(x, multiplier, shift);
}

/* The same rounded twice, halves up: predicated vectors of Helium, built for single rounding.
 *   floor((HM(x * 2^(shift + n) modulo 2^32, multiplier) + 2^(n - 1)) / 2^n),  n = max(-shift, 1)
 * with -31 <= shift <= 30. */
static inline int32_t qn_requantize_twice(int32_t x, int32_t multiplier, int shift) {
    int right = shift < 0 ? -shift : 1;
    int32_t high = qn_hm(qn_wrap32(qn_shl(x, shift + right)), multiplier);
    return (int32_t)qn_asr64((int64_t)high + ((int64_t)1 << (right - 1)), right);
}

/* The same in a lane of Helium, multiplier >= 0: with single rounding and shift >= 0 it is
 * x * 2^(shift + 1) modulo 2^32 that is multiplied, and halved at the end. */
static inline int32_t qn_requantize_lane(int32_t profile, int32_t x, int32_t multiplier,
                                         int shift) {
    if (qn_rounding(profile) == QN_DOUBLE || shift < 0) {
        return qn_requantize(profile, x, multiplier, shift);
    }
    int64_t twice = (int64_t)qn_wrap32(qn_shl(qn_wrap32(qn_shl(x, shift)), 1)) * multiplier;
    return (int32_t)qn_asr64(qn_asr64(twice, 31) + 1, 1);
}

/* The 16 bits of a multiplier that a sum of 64 bits is multiplied by. */
static inline int32_t qn_multiplier16(int32_t multiplier) {
    return multiplier >= 0x7fff0000 ? 0x7fff : qn_asr(multiplier + (1 << 15), 16);
}

/* A sum of 64 bits, |x| < 2^47, -31 <= shift <= 7, by either rounding:
 *   (t + 1) >> 1,  t = floor(x * qn_multiplier16() / 2^(14 - shift)) modulo 2^32
 * and the same for a multiplier that has 16 bits already. */
static inline int32_t qn_requantize64_by16(int64_t x, int32_t multiplier16, int shift) {
    int64_t product = (int64_t)((uint64_t)x * (uint64_t)(int64_t)multiplier16);
    return qn_asr(qn_add32((int32_t)(uint32_t)qn_asr64(product, 14 - shift), 1), 1);
}

static inline int32_t qn_requantize64(int64_t x, int32_t multiplier, int shift) {
    return qn_requantize64_by16(x, qn_multiplier16(multiplier), shift);
}

/* The same in TensorFlow Lite Micro, which adds 1/2 in 64 bits: only where that one passes 2^30 or
 * is below -2^30 are they different. Modulo 2^32 at the end. */
static inline int32_t qn_requantize64_tflm(int64_t x, int32_t multiplier, int shift) {
    int64_t product = (int64_t)((uint64_t)x * (uint64_t)(int64_t)qn_multiplier16(multiplier));
    return (int32_t)(uint32_t)qn_asr64(qn_add64(product, (int64_t)1 << (14 - shift)), 15 - shift);
}

/* Value `index` of values of 4 bits, two's complement, two in a byte, the first in its low half. */
static inline int32_t qn_nibble(const int8_t *packed, int64_t index) {
    int32_t byte = packed[index / 2];
    return qn_asr(qn_wrap32(qn_shl(byte, index % 2 ? 24 : 28)), 28);
}

/* x * 2^n, saturated, 0 <= n <= 31. */
static inline int32_t qn_shl_sat(int32_t x, int n) {
    return (int32_t)qn_clamp64((int64_t)x * ((int64_t)1 << n), INT32_MIN, INT32_MAX);
}

/* Zeros before the first one of 32 bits; 32 of 0 (CLZ). */
static inline int qn_leading_zeros(uint32_t x) {
    int zeros = 0;
    for (uint32_t bit = 1u << 31; bit != 0 && (x & bit) == 0; bit >>= 1) {
        zeros++;
    }
    return zeros;
}

#endif
