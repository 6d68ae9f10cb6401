/* Instruction sets of this host, from the processor and the operating system. */
#define _DEFAULT_SOURCE /* syscall() */
#include "common/profiles.h"
#include "include/qn.h"

#if QN_HAS_X86

#include <cpuid.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct leaf {
    unsigned a, b, c, d;
} leaf;

static leaf ask(unsigned number, unsigned part) {
    leaf answer = {0, 0, 0, 0};
    if (!__get_cpuid_count(number, part, &answer.a, &answer.b, &answer.c, &answer.d)) {
        leaf nothing = {0, 0, 0, 0};
        return nothing;
    }
    return answer;
}

/* XCR0: which registers the operating system saves. */
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has(unsigned bits, unsigned bit) { return (int)(bits >> bit & 1u); }

/* AMX-TILE and AMX-INT8, whose registers Linux hands out on request, once for the process; a model
 * of them needs nothing. */
static int may_use_tiles(unsigned saved, unsigned features) {
#if defined(QN_AMX_MODEL)
    (void)saved, (void)features;
    return 1;
#elif defined(__linux__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return (saved & 0x60000u) == 0x60000u && has(features, 24) && has(features, 25) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    (void)saved, (void)features;
    return 0;
#endif
}

uint32_t qn_cpu_features(void) {
    leaf one = ask(1, 0), seven = ask(7, 0), more = ask(7, 1);
    if (!has(one.c, 27)) { /* OSXSAVE */
        return 0;
    }
    unsigned saved = saved_registers();
    int ymm = (saved & 0x6u) == 0x6u, zmm = (saved & 0xe6u) == 0xe6u;
    uint32_t features = 0;
    if (!(ymm && has(seven.b, 5) && has(one.c, 12 /* FMA */))) {
        return 0;
    }
    features |= QN_CPU_AVX2;
    if (has(more.a, 4)) {
        features |= QN_CPU_AVXVNNI;
    }
    /* F, BW, VL, VNNI */
    if (zmm && has(seven.b, 16) && has(seven.b, 30) && has(seven.b, 31) && has(seven.c, 11)) {
        features |= QN_CPU_AVX512VNNI;
        if (may_use_tiles(saved, seven.d)) {
            features |= QN_CPU_AMX;
        }
    }
    return features;
}

#elif QN_HAS_ARM64

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__linux__)
/* Vendors, as MIDR_EL1 has them, whose products of matrices are slower than their dot products. */
static const unsigned slower_makers[] = {0x61 /* Apple */};

static int is_slower_maker(void) {
    uint64_t id;
    __asm__("mrs %0, midr_el1" : "=r"(id)); /* which Linux answers */
    for (size_t i = 0; i < sizeof slower_makers / sizeof slower_makers[0]; i++) {
        if ((id >> 24 & 0xff) == slower_makers[i]) {
            return 1;
        }
    }
    return 0;
}
#endif

uint32_t qn_cpu_features(void) {
#if defined(__linux__)
    enum { ASIMDDP = 1 << 20, CPUID = 1 << 11, I8MM = 1 << 13 }; /* of HWCAP, HWCAP, HWCAP2 */
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    if (!(first & ASIMDDP)) {
        return 0;
    }
    const int pairs = second & I8MM && first & CPUID && !is_slower_maker();
    return QN_CPU_NEON | (pairs ? QN_CPU_I8MM : 0);
#elif defined(__APPLE__)
    /* Every Apple processor of this architecture has it, and is faster with it. */
    return QN_CPU_NEON;
#else
    return 0;
#endif
}

#else

uint32_t qn_cpu_features(void) { return 0; }

#endif
