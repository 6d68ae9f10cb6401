/* C models of the Armv7E-M DSP instructions that CMSIS-NN uses, for the *_dsp.c files alone.
 *
 * A word holds two halfwords (low first) or four bytes (lowest first), as on the device. */
#ifndef QN_ARM_DSP_H
#define QN_ARM_DSP_H

#include <string.h>

#include "fixed.h"

/* Word loads and stores at any address (LDR, STR). */
static inline uint32_t arm_load(const void *address) {
    uint32_t word;
    memcpy(&word, address, sizeof word);
    return word;
}
static inline void arm_store(void *address, uint32_t word) { memcpy(address, &word, sizeof word); }

/* The halfwords of a word, sign-extended; two halfwords as a word. */
static inline int32_t arm_low(uint32_t word) { return qn_wrap16((int32_t)(word & 0xffffu)); }
static inline int32_t arm_high(uint32_t word) { return qn_wrap16((int32_t)(word >> 16)); }
static inline uint32_t arm_halves(int32_t low, int32_t high) {
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
}

/* ROR: rotate right, 0 < bits < 32. */
static inline uint32_t arm_ror(uint32_t word, int bits) {
    return word >> bits | word << (32 - bits);
}

/* SXTB16: bytes 0 and 2, sign-extended to halfwords. With ROR #8: bytes 1 and 3. */
static inline uint32_t arm_sxtb16(uint32_t word) {
    return arm_halves(qn_wrap8((int32_t)(word & 0xffu)), qn_wrap8((int32_t)(word >> 16 & 0xffu)));
}
static inline uint32_t arm_sxtb16_ror8(uint32_t word) { return arm_sxtb16(arm_ror(word, 8)); }

/* PKHBT a, b, LSL #16: low half of a, low half of b on top. PKHTB a, b, ASR #16: high half of b
 * below the high half of a. */
static inline uint32_t arm_pkhbt16(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
static inline uint32_t arm_pkhtb16(uint32_t a, uint32_t b) { return (a & 0xffff0000u) | b >> 16; }

/* SMLAD: acc + low*low + high*high modulo 2^32 (an overflow only sets the Q flag). */
static inline uint32_t arm_smlad(uint32_t a, uint32_t b, uint32_t acc) {
    return acc + (uint32_t)(arm_low(a) * arm_low(b)) + (uint32_t)(arm_high(a) * arm_high(b));
}

/* QADD16: two saturating halfword sums. SADD16: the same, wrapping. */
static inline uint32_t arm_qadd16(uint32_t a, uint32_t b) {
    return arm_halves(qn_sat16(arm_low(a) + arm_low(b)), qn_sat16(arm_high(a) + arm_high(b)));
}
static inline uint32_t arm_sadd16(uint32_t a, uint32_t b) {
    return arm_halves(arm_low(a) + arm_low(b), arm_high(a) + arm_high(b));
}

/* Byte `lane` of a word, sign-extended; a value as byte `lane` of a word. */
static inline int32_t arm_byte(uint32_t word, int lane) {
    return qn_wrap8((int32_t)(word >> (8 * lane) & 0xffu));
}
static inline uint32_t arm_as_byte(int32_t value, int lane) {
    return ((uint32_t)value & 0xffu) << (8 * lane);
}

/* QADD8, QSUB8: four saturating byte sums or differences. QSUB16: two halfword differences. */
static inline uint32_t arm_qadd8(uint32_t a, uint32_t b) {
    uint32_t word = 0;
    for (int lane = 0; lane < 4; lane++) {
        word |= arm_as_byte(qn_sat8(arm_byte(a, lane) + arm_byte(b, lane)), lane);
    }
    return word;
}
static inline uint32_t arm_qsub8(uint32_t a, uint32_t b) {
    uint32_t word = 0;
    for (int lane = 0; lane < 4; lane++) {
        word |= arm_as_byte(qn_sat8(arm_byte(a, lane) - arm_byte(b, lane)), lane);
    }
    return word;
}
static inline uint32_t arm_qsub16(uint32_t a, uint32_t b) {
    return arm_halves(qn_sat16(arm_low(a) - arm_low(b)), qn_sat16(arm_high(a) - arm_high(b)));
}

/* Two words of q15 values from one word of q7 values: in reading order (0 1 | 2 3), or as SXTB16
 * leaves them, which is cheaper (0 2 | 1 3). */
static inline void arm_expand(uint32_t bytes, uint32_t *first, uint32_t *second) {
    uint32_t even = arm_sxtb16(bytes);
    uint32_t odd = arm_sxtb16_ror8(bytes);
    *first = arm_pkhbt16(even, odd);
    *second = arm_pkhtb16(odd, even);
}
static inline void arm_expand_reordered(uint32_t bytes, uint32_t *first, uint32_t *second) {
    *first = arm_sxtb16(bytes);
    *second = arm_sxtb16_ror8(bytes);
}

#endif
