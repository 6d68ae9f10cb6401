/* The peak multiply-accumulate rate of an instruction set, the benchmarks' limit for the rows: dot
 * products on registers alone, in enough independent chains to hide their latency. */
#include "../common/profiles.h"
#include "../include/qn.h"

typedef struct peak {
    uint32_t feature;
    int32_t bits; /* bits of the factors */
    int64_t macs; /* products of one round */
    void (*run)(int64_t rounds);
} peak;

enum { REPEATS = 4 }; /* of all chains in one round; .rept below */

#if QN_HAS_X86

enum { CHAINS = 12, TILES = 4 };

#define CLOBBERED                                                                            \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
        "xmm11", "xmm12"

/* vpmaddwd has no accumulator: each product needs an addition. */
__attribute__((target("avx2"))) static void run_avx2(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
            "vpmaddwd %%ymm13, %%ymm14, %%ymm12\n"
            "vpaddd %%ymm12, %%ymm\\chain, %%ymm\\chain\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

__attribute__((target("avx2"))) static void run_avxvnni_8(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
            "%{vex%} vpdpbusd %%ymm13, %%ymm14, %%ymm\\chain\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

__attribute__((target("avx2"))) static void run_avxvnni_16(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
            "%{vex%} vpdpwssd %%ymm13, %%ymm14, %%ymm\\chain\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

__attribute__((target("avx512f,avx512vnni"))) static void run_avx512_8(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
            "vpdpbusd %%zmm13, %%zmm14, %%zmm\\chain\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

__attribute__((target("avx512f,avx512vnni"))) static void run_avx512_16(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
            "vpdpwssd %%zmm13, %%zmm14, %%zmm\\chain\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

/* Configures eight tiles of 16 rows by 64 bytes; four of them accumulate. */
__attribute__((target("amx-tile,amx-int8"))) static void run_amx(int64_t rounds) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("ldtilecfg %0" ::"m"(shape));
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, 0, 1, 2, 3\n"
            "tdpbssd %%tmm5, %%tmm4, %%tmm\\chain\n"
            ".endr\n.endr" ::);
    }
    __asm__ volatile("tilerelease" ::);
}

static const peak peaks[] = {
    {QN_CPU_AVX2, 8, REPEATS * CHAINS * 16, run_avx2}, /* bytes are widened for vpmaddwd */
    {QN_CPU_AVX2, 16, REPEATS * CHAINS * 16, run_avx2},
    {QN_CPU_AVXVNNI, 8, REPEATS * CHAINS * 32, run_avxvnni_8},
    {QN_CPU_AVXVNNI, 16, REPEATS * CHAINS * 16, run_avxvnni_16},
    {QN_CPU_AVX512VNNI, 8, REPEATS * CHAINS * 64, run_avx512_8},
    {QN_CPU_AVX512VNNI, 16, REPEATS * CHAINS * 32, run_avx512_16},
    {QN_CPU_AMX, 8, REPEATS * TILES * 16 * 16 * 64, run_amx},
};

#elif QN_HAS_ARM64

#if defined(__clang__)
#define WITH_DOTPROD __attribute__((target("dotprod")))
#define WITH_I8MM __attribute__((target("i8mm")))
#else
#define WITH_I8MM __attribute__((target("arch=armv8.2-a+i8mm")))
#define WITH_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

enum { CHAINS = 16 };

#define CLOBBERED                                                                             \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", \
        "v22", "v23"

WITH_DOTPROD static void run_neon_8(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, v0.4s, v1.4s, v2.4s, v3.4s, v4.4s, v5.4s, v6.4s, v7.4s,"
            " v16.4s, v17.4s, v18.4s, v19.4s, v20.4s, v21.4s, v22.4s, v23.4s\n"
            "sdot \\chain, v24.16b, v25.16b\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

WITH_I8MM static void run_i8mm(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, v0.4s, v1.4s, v2.4s, v3.4s, v4.4s, v5.4s, v6.4s, v7.4s,"
            " v16.4s, v17.4s, v18.4s, v19.4s, v20.4s, v21.4s, v22.4s, v23.4s\n"
            "smmla \\chain, v24.16b, v25.16b\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

static void run_neon_16(int64_t rounds) {
    while (rounds--) {
        __asm__ volatile(
            ".rept 4\n"
            ".irp chain, v0.4s, v1.4s, v2.4s, v3.4s, v4.4s, v5.4s, v6.4s, v7.4s,"
            " v16.4s, v17.4s, v18.4s, v19.4s, v20.4s, v21.4s, v22.4s, v23.4s\n"
            "smlal \\chain, v24.4h, v25.4h\n"
            ".endr\n.endr" ::
                : CLOBBERED);
    }
}

static const peak peaks[] = {
    {QN_CPU_NEON, 8, REPEATS * CHAINS * 16, run_neon_8},
    {QN_CPU_NEON, 16, REPEATS * CHAINS * 4, run_neon_16},
    {QN_CPU_I8MM, 8, REPEATS * CHAINS * 32, run_i8mm},
    {QN_CPU_I8MM, 16, REPEATS * CHAINS * 4, run_neon_16},
};

#else

static const peak peaks[] = {{0, 0, 0, 0}};

#endif

int64_t qn_peak(uint32_t feature, int32_t bits, int64_t rounds) {
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        const peak *p = &peaks[i];
        if (p->run && p->feature == feature && p->bits == bits) {
            p->run(rounds);
            return rounds * p->macs;
        }
    }
    return 0;
}
