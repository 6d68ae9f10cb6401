/* Sets of profiles for kernels.inc: bit p of a set stands for profile p (see qn.h). */
#ifndef QN_PROFILES_H
#define QN_PROFILES_H

/* Are rows for the instruction sets of this architecture compiled? They need intrinsics and
 * per-function targets as GCC and Clang have them, x86 from the release on that knows AVX-VNNI. */
#if defined(__clang__)
#define QN_COMPILER_OF_2021 (__clang_major__ >= 12)
#elif defined(__GNUC__)
#define QN_COMPILER_OF_2021 (__GNUC__ >= 11)
#else
#define QN_COMPILER_OF_2021 0
#endif
#if defined(__x86_64__) && QN_COMPILER_OF_2021
#define QN_HAS_X86 1
#else
#define QN_HAS_X86 0
#endif
#if defined(__aarch64__) && defined(__GNUC__)
#define QN_HAS_ARM64 1
#else
#define QN_HAS_ARM64 0
#endif

/* One core path in both roundings, for one release. */
#define QN_SET(release, path) (UINT64_C(3) << (8 * (release) + 2 * (path)))

#define QN_560 UINT64_C(0x00ff)
#define QN_590 UINT64_C(0xff00)
/* The s8 and s16 API from CMSIS-NN 7.0.0 on, which no longer has the q7 and q15 functions: that
 * release, and Arm's main branch of July 2026. */
#define QN_FROM_700 UINT64_C(0xffff0000)
#define QN_FROM_700_MVE (QN_SET(QN_RELEASE_700, QN_PATH_MVE) | QN_SET(QN_RELEASE_MAIN, QN_PATH_MVE))
#define QN_FROM_700_DSP (QN_SET(QN_RELEASE_700, QN_PATH_DSP) | QN_SET(QN_RELEASE_MAIN, QN_PATH_DSP))
#define QN_FROM_700_MVE_SINGLE (QN_FROM_700_MVE & UINT64_C(0xaaaa0000)) /* rounds once */

/* Core paths of the q7 and q15 API. */
#define QN_M0 (QN_SET(0, QN_PATH_M0) | QN_SET(1, QN_PATH_M0))
#define QN_SCALAR (QN_SET(0, QN_PATH_SCALAR) | QN_SET(1, QN_PATH_SCALAR))
#define QN_MVE (QN_SET(0, QN_PATH_MVE) | QN_SET(1, QN_PATH_MVE))
#define QN_DSP (QN_SET(0, QN_PATH_DSP) | QN_SET(1, QN_PATH_DSP))

/* The NPU of the WuQi WQ5007, as the manual of its kit describes it. */
#define QN_NPU (UINT64_C(1) << QN_PROFILE_NPU)

/* Every path that compiles Arm's portable C for the q7 and q15 functions. */
#define QN_PORTABLE (QN_M0 | QN_SCALAR | QN_MVE)
#define QN_ANY (QN_560 | QN_590)

#endif
