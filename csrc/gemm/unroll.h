/* How the engine keeps its accumulators in registers: tiles inlined with constant sizes, their
 * loops unrolled. */
#ifndef QN_GEMM_UNROLL_H
#define QN_GEMM_UNROLL_H

#if defined(__GNUC__)
#define QN_INLINE static inline __attribute__((always_inline))
#else
#define QN_INLINE static inline
#endif

/* A pointer that the compiler may not take apart: sums of many addresses stay sums of few. */
#define QN_OPAQUE(pointer) __asm__("" : "+r"(pointer))

#if defined(__clang__)
#define QN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QN_UNROLL _Pragma("GCC unroll 16")
#endif

/* A statement for each vector v of channels of each pixel p. */
#define QN_EACH(pixels, vectors, ...)                                 \
    QN_UNROLL for (int v = 0; v < (vectors); v++) {                   \
        QN_UNROLL for (int p = 0; p < (pixels); p++) { __VA_ARGS__; } \
    }

#endif
