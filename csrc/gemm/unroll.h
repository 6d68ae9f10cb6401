/* Means to keep accumulators in registers: micro-tiles are inlined with constant sizes, and their
 * loops are unrolled. */
#ifndef QN_GEMM_UNROLL_H
#define QN_GEMM_UNROLL_H

#if defined(__GNUC__)
#define QN_INLINE static inline __attribute__((always_inline))
#else
#define QN_INLINE static inline
#endif

/* Hides the origin of a pointer from the compiler, so that addresses derive from few registers. */
#define QN_OPAQUE(pointer) __asm__("" : "+r"(pointer))

#if defined(__clang__)
#define QN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QN_UNROLL _Pragma("GCC unroll 16")
#endif

/* Runs a statement for each vector v of channels of each pixel p. */
#define QN_EACH(pixels, vectors, ...)                                 \
    QN_UNROLL for (int v = 0; v < (vectors); v++) {                   \
        QN_UNROLL for (int p = 0; p < (pixels); p++) { __VA_ARGS__; } \
    }

#endif
