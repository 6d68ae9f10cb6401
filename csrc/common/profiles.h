/* Sets of profiles for the lists of kernels (see qn.h for their bits). */
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

/* One core path of one release, in both roundings; Helium built for single rounding. */
#define QN_SET(release, path) (UINT64_C(1) << (5 * (release) + (path)))
#define QN_SET_MVE_SINGLE(release) QN_SET(release, QN_PATH_MVE_SINGLE)
#define QN_SET_MVE(release) (QN_SET(release, QN_PATH_MVE) | QN_SET_MVE_SINGLE(release))

/* The releases of the q7 and q15 API, and those of the s8 and s16 API, CMSIS-NN 7.0.0 and later,
 * that most rows claim. */
#define QN_LEGACY(path) (QN_SET(QN_RELEASE_560, path) | QN_SET(QN_RELEASE_590, path))
#define QN_AFFINE(path) (QN_SET(QN_RELEASE_700, path) | QN_SET(QN_RELEASE_MAIN_2026_07, path))

/* Every path of one release; of 5.8.0 those of portable C. 530, 540, 570, 580, 600: of ops whose
 * bits no release above has. */
#define QN_PATHS(release)                                                                  \
    (QN_SET(release, QN_PATH_M0) | QN_SET(release, QN_PATH_SCALAR) | QN_SET_MVE(release) | \
     QN_SET(release, QN_PATH_DSP))
#define QN_560 QN_PATHS(QN_RELEASE_560)
#define QN_590 QN_PATHS(QN_RELEASE_590)
#define QN_530 QN_PATHS(QN_RELEASE_530)
#define QN_540 QN_PATHS(QN_RELEASE_540)
#define QN_540_DSP QN_SET(QN_RELEASE_540, QN_PATH_DSP)
#define QN_570_DSP QN_SET(QN_RELEASE_570, QN_PATH_DSP)
#define QN_580                                                                     \
    (QN_SET(QN_RELEASE_580, QN_PATH_M0) | QN_SET(QN_RELEASE_580, QN_PATH_SCALAR) | \
     QN_SET_MVE(QN_RELEASE_580))
#define QN_600 QN_PATHS(QN_RELEASE_600)

/* Core paths of the q7 and q15 API. */
#define QN_M0 QN_LEGACY(QN_PATH_M0)
#define QN_SCALAR QN_LEGACY(QN_PATH_SCALAR)
#define QN_MVE (QN_LEGACY(QN_PATH_MVE) | QN_LEGACY(QN_PATH_MVE_SINGLE))
#define QN_DSP QN_LEGACY(QN_PATH_DSP)

/* Every path that compiles Arm's portable C for the q7 and q15 functions. */
#define QN_PORTABLE (QN_M0 | QN_SCALAR | QN_MVE)
#define QN_ANY (QN_PORTABLE | QN_DSP)

/* Core paths of the s8 and s16 API. */
#define QN_FROM_700_MVE_SINGLE QN_AFFINE(QN_PATH_MVE_SINGLE)
#define QN_FROM_700_MVE (QN_AFFINE(QN_PATH_MVE) | QN_FROM_700_MVE_SINGLE)
#define QN_FROM_700_DSP QN_AFFINE(QN_PATH_DSP)
#define QN_FROM_700 \
    (QN_AFFINE(QN_PATH_M0) | QN_AFFINE(QN_PATH_SCALAR) | QN_FROM_700_MVE | QN_FROM_700_DSP)

/* The NPU of the WuQi WQ5007, as the manual of its kit describes it. */
#define QN_NPU (UINT64_C(1) << QN_NPU_BIT)

_Static_assert(5 * QN_RELEASE_600 + QN_PATH_MVE_SINGLE < QN_NPU_BIT,
               "a release takes 5 bits before QN_NPU_BIT: its number is 0..11");

#endif
