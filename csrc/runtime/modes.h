/* The processor's modes before and after a row.
 *
 * Rows require the floating-point modes of a new process: round to nearest, and keep denormal
 * numbers. Libraries built for speed change these modes for the thread that loads them.
 *
 * After a row the upper halves of vectors are zero. Otherwise SSE code also preserves them, at up
 * to 70 ns each time, and compilers do not clear them at every return of a function. */
#ifndef QN_MODES_H
#define QN_MODES_H

#include <stdint.h>

#include "../common/profiles.h"

#if QN_HAS_X86

#include <immintrin.h>

enum { QN_USUAL_MODES = 0x1f80, QN_MODE_FLAGS = 0x3f };

/* Set the modes of a new process. Return the previous ones, for qn_leave_modes(). */
static inline uint64_t qn_enter_modes(void) {
    const unsigned before = _mm_getcsr();
    if ((before & ~(unsigned)QN_MODE_FLAGS) != QN_USUAL_MODES) {
        _mm_setcsr(QN_USUAL_MODES);
    }
    return before;
}

static inline void qn_leave_modes(uint64_t before) {
    if ((before & ~(uint64_t)QN_MODE_FLAGS) != QN_USUAL_MODES) {
        _mm_setcsr((unsigned)before);
    }
}

static inline void __attribute__((target("avx"))) qn_zero_uppers(void) { _mm256_zeroupper(); }

/* Clear the upper halves of vectors if the row before needed the CPU features `cpu`. */
static inline void qn_leave_vectors(uint32_t cpu) {
    if (cpu) {
        qn_zero_uppers();
    }
}

#elif QN_HAS_ARM64

static inline uint64_t qn_enter_modes(void) {
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    if (before != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
    }
    return before;
}

static inline void qn_leave_modes(uint64_t before) {
    if (before != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"(before));
    }
}

static inline void qn_leave_vectors(uint32_t cpu) { (void)cpu; }

#else /* rows are plain C */

static inline uint64_t qn_enter_modes(void) { return 0; }
static inline void qn_leave_modes(uint64_t before) { (void)before; }
static inline void qn_leave_vectors(uint32_t cpu) { (void)cpu; }

#endif

#endif
