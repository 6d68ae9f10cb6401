/* How the processor treats floating-point numbers while rows run: as in every new process, which rounds
 * to nearest and keeps the smallest numbers. Libraries that are built for speed change that for the
 * thread that loads them. */
#ifndef QN_MODES_H
#define QN_MODES_H

#include <stdint.h>

#include "../common/profiles.h"

#if QN_HAS_X86

#include <xmmintrin.h>

enum { QN_USUAL_MODES = 0x1f80, QN_MODE_FLAGS = 0x3f };

/* Returns what qn_leave_modes() then sets again. */
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

#else /* whose rows are plain C */

static inline uint64_t qn_enter_modes(void) { return 0; }
static inline void qn_leave_modes(uint64_t before) { (void)before; }

#endif

#endif
