/* A line of a list of kernels as prototypes. The lists are kernels.inc of each family;
 * csrc/kernels.inc includes them all. A function in the list of its family that has another
 * signature does not compile, nor does one that is missing there.
 *
 *   QN_OP(arithmetic, op, type, params, check, split)
 *       An op: a computation on one element type. params: the struct of its parameters. check: the
 *       contract's legal shapes and ranges. The contract is the header that the op's files share.
 *       split: the function that finds how far a call reaches, so that threads can share it;
 *       qn_no_split: calls are not split.
 *   QN_ROW(kind, op, type, variant, CPU, profiles, run, scratch)
 *       One way to compute it. kind: plain = the definition, one for each profile; model = the
 *       device's own way; fast = this host's way. CPU: the instruction set that the host must have,
 *       or ANY; on another architecture the row vanishes. profiles: the profiles whose bits it
 *       promises (profiles.h). run: the function. scratch: the function that counts scratch bytes.
 *   QN_PACKED(kind, op, type, variant, CPU, profiles, functions)
 *       A row with more functions: a const qn_functions. It has weights, or a table, that pack() lays
 *       out once, at plan time. traits() names the shapes on which the next row is faster.
 *   QN_PLAIN(arithmetic, op, type, params, check, run)
 *       An op with one row: the plain one, of 7.0.0 and later, without scratch.
 *   QN_COPY(arithmetic, op, type, params, check, run)
 *       The same for a copy of memory: no fast row could be faster, and the variant says so.
 *
 * Within an op the best row is the first. Prototypes, the array (registry.c), the Python objects
 * (qemu_nn/kernels/table.py), the test ids and the benchmark lines come from the lists. */
#ifndef QN_KERNELS_H
#define QN_KERNELS_H

#include "../include/qn.h"
#include "profiles.h"

/* Marks functions that run once, at plan time, and read no weights: compilers optimize these, and
 * functions that only these call, for size. */
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

/* A call that is not split; a call of an element-wise op on a qn_vector. */
QN_ONCE int qn_no_split(void *params, qn_extent *extent);
QN_ONCE int qn_vector_split(void *params, qn_extent *extent);

/* Expands to its arguments where the instruction set is compiled, otherwise to nothing. */
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

#define QN_OP(arithmetic, op, type, params, check, split) \
    QN_ONCE int check(const void *, qn_sizes *, char *);  \
    QN_ONCE int split(void *, qn_extent *);
#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch) \
    QN_ON_##cpu(int run(const void *, const qn_buffers *); QN_ONCE int64_t scratch(const void *);)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, functions) \
    QN_ON_##cpu(extern const qn_functions functions;)
#define QN_PLAIN(arithmetic, op, type, params, check, run)  \
    QN_OP(arithmetic, op, type, params, check, qn_no_split) \
    QN_ROW(plain, op, type, ref, ANY, QN_FROM_700, run, qn_no_scratch)
#define QN_COPY(arithmetic, op, type, params, check, run)   \
    QN_OP(arithmetic, op, type, params, check, qn_no_split) \
    QN_ROW(plain, op, type, copy, ANY, QN_FROM_700, run, qn_no_scratch)

#endif
