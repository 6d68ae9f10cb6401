/* Sets of profiles for the lists of kernels: bit p of a set is profile p (see qn.h). */
#ifndef QN_PROFILES_H
#define QN_PROFILES_H

#include "../include/qn.h"

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

/* One core path of one release: in both roundings, and with single rounding alone. */
#define QN_SET(release, path) (UINT64_C(3) << (8 * (release) + 2 * (path)))
#define QN_SET_SINGLE(release, path) (UINT64_C(1) << (8 * (release) + 2 * (path) + QN_SINGLE))

/* The list of the releases with the q7 and q15 API, and the list of those with the s8 and s16 API,
 * CMSIS-NN 7.0.0 and later. set: QN_SET or QN_SET_SINGLE. */
#define QN_LEGACY(set, path) (set(QN_RELEASE_560, path) | set(QN_RELEASE_590, path))
#define QN_AFFINE(set, path) (set(QN_RELEASE_700, path) | set(QN_RELEASE_MAIN_2026_07, path))

/* Every path of one release. */
#define QN_PATHS(release)                                            \
    (QN_SET(release, QN_PATH_M0) | QN_SET(release, QN_PATH_SCALAR) | \
     QN_SET(release, QN_PATH_MVE) | QN_SET(release, QN_PATH_DSP))
#define QN_560 QN_PATHS(QN_RELEASE_560)
#define QN_590 QN_PATHS(QN_RELEASE_590)

/* Core paths of the q7 and q15 API. */
#define QN_M0 QN_LEGACY(QN_SET, QN_PATH_M0)
#define QN_SCALAR QN_LEGACY(QN_SET, QN_PATH_SCALAR)
#define QN_MVE QN_LEGACY(QN_SET, QN_PATH_MVE)
#define QN_DSP QN_LEGACY(QN_SET, QN_PATH_DSP)

/* Every path that compiles Arm's portable C for the q7 and q15 functions. */
#define QN_PORTABLE (QN_M0 | QN_SCALAR | QN_MVE)
#define QN_ANY (QN_PORTABLE | QN_DSP)

/* Core paths of the s8 and s16 API. */
#define QN_FROM_700_MVE QN_AFFINE(QN_SET, QN_PATH_MVE)
#define QN_FROM_700_DSP QN_AFFINE(QN_SET, QN_PATH_DSP)
#define QN_FROM_700_MVE_SINGLE QN_AFFINE(QN_SET_SINGLE, QN_PATH_MVE)
#define QN_FROM_700                                                                        \
    (QN_AFFINE(QN_SET, QN_PATH_M0) | QN_AFFINE(QN_SET, QN_PATH_SCALAR) | QN_FROM_700_MVE | \
     QN_FROM_700_DSP)

/* The NPU of the WuQi WQ5007, as the manual of its kit describes it. */
#define QN_NPU (UINT64_C(1) << QN_PROFILE_NPU)

#define QN_REACHES_NPU(release, path) (8 * (release) + 7 >= QN_PROFILE_NPU)
_Static_assert(!(QN_LEGACY(QN_REACHES_NPU, 0) | QN_AFFINE(QN_REACHES_NPU, 0)),
               "a release takes 8 profiles before QN_PROFILE_NPU: its number is 0..6");

#endif
