/* A prototype for every op and row of kernels.inc, and nothing else: a kernel that is not in the
 * list does not compile, because its definition has no prototype. */
#ifndef QN_KERNELS_H
#define QN_KERNELS_H

#include "profiles.h"
#include "qn.h"

#if defined(__GNUC__)
#pragma GCC diagnostic error "-Wmissing-prototypes"
#endif

/* No scratch memory, nothing to pack. */
int64_t qn_no_scratch(const void *params);
int64_t qn_no_packed(const void *params);

#define QN_OP(arithmetic, op, type, params, check) int check(const void *, qn_sizes *, char *);
#define QN_ROW(kind, arithmetic, op, type, variant, profiles, cpu, run, scratch) \
    int run(const void *, const qn_buffers *);                                   \
    int64_t scratch(const void *);
#define QN_PACKED_ROW(arithmetic, op, type, variant, profiles, cpu, run, scratch, packed, pack) \
    QN_ROW(fast, arithmetic, op, type, variant, profiles, cpu, run, scratch)                    \
    int64_t packed(const void *);                                                               \
    void pack(const void *, const void *, const void *, void *);
#include "kernels.inc"
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED_ROW

#endif
