/* How the engine keeps its accumulators in registers: tiles inlined with constant sizes, their
 * loops unrolled. */
#ifndef QN_GEMM_UNROLL_H
#define QN_GEMM_UNROLL_H

#define QN_INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define QN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QN_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
