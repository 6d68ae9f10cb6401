/* A prototype for every op and row of kernels.inc, and nothing else: a kernel that is not in the
 * list does not compile, because its definition has no prototype. */
#ifndef QN_KERNELS_H
#define QN_KERNELS_H

#include "../include/qn.h"
#include "profiles.h"

/* Of what runs once, at plan time, and passes over no weights: small code rather than fast, and so
 * what only this calls. */
#if defined(__GNUC__)
#pragma GCC diagnostic error "-Wmissing-prototypes"
#define QN_ONCE __attribute__((cold))
#else
#define QN_ONCE
#endif

/* No scratch memory, nothing to pack, no shape on which the next row is faster. */
int64_t qn_no_scratch(const void *params);
int64_t qn_no_packed(const void *params);
int32_t qn_always_pays(const void *params);

/* What stands in brackets, where rows for this instruction set are compiled: else nothing. */
#define QN_ON_ANY(...) __VA_ARGS__
#if QN_HAS_X86
#define QN_ON_X86(...) __VA_ARGS__
#else
#define QN_ON_X86(...)
#endif
#if QN_HAS_ARM64
#define QN_ON_ARM64(...) __VA_ARGS__
#else
#define QN_ON_ARM64(...)
#endif
#define QN_ON_AVX2 QN_ON_X86
#define QN_ON_AVXVNNI QN_ON_X86
#define QN_ON_AVX512VNNI QN_ON_X86
#define QN_ON_AMX QN_ON_X86
#define QN_ON_NEON QN_ON_ARM64
#define QN_ON_I8MM QN_ON_ARM64

#define QN_OP(arithmetic, op, type, params, check) \
    QN_ONCE int check(const void *, qn_sizes *, char *);
#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch) \
    QN_ON_##cpu(int run(const void *, const qn_buffers *); QN_ONCE int64_t scratch(const void *);)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack) \
    QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch)                      \
    QN_ON_##cpu(QN_ONCE int64_t packed(const void *);                                 \
                void pack(const void *, const void *, const void *, void *);)
#define QN_CHOSEN(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack, traits) \
    QN_PACKED(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack)             \
    QN_ON_##cpu(int32_t traits(const void *);)
#include "../kernels.inc"
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED
#undef QN_CHOSEN

#endif
