/* A row of outputs from strips: tiles of pixels by vectors of channels. Included by strips.h. */
#ifndef QN_GEMM_STRIPS_ROW_H
#define QN_GEMM_STRIPS_ROW_H

/* One or two vectors of channels along a row of outputs. */
typedef struct walk {
    int32_t count;  /* pixels, or vectors that some share */
    int stored;     /* channels of each */
    int64_t behind; /* bytes of outputs from the end of the row to that of the last vector */
    int64_t in_step, tap_step, group_step, out_step; /* bytes from one to the next */
    int32_t groups, kernel_x;
    const int32_t *start, *weights;
} walk;

/* How the taps lie: anyhow; three by three; and these from neighbouring pixels. */
enum { TAPS_ANY, TAPS_3X3, TAPS_NEXT, GROUPS_OF_3 = (3 + ROWS - 1) / ROWS };

static inline int taps_of(const walk *w) {
    return w->kernel_x != 3 || w->groups != GROUPS_OF_3 ? TAPS_ANY
           : w->in_step != w->tap_step                  ? TAPS_3X3
                                                        : TAPS_NEXT;
}

/* One tap of `pixels` pixels with values `tap` bytes behind `at`; `next`: dwords from the weights of
 * one vector to those of the next. */
QN_INLINE void tap_any(const int pixels, const int vectors, const char *const at[4], int64_t tap,
                       const int32_t *weights, int64_t next, vec acc[16][4]) {
    QN_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec held = vec_load(weights + v * next);
        QN_UNROLL
        for (int p = 0; p < pixels; p++) {
            vec values = vec_load((const void *)(at[p] + tap + v * (int64_t)sizeof(vec)));
            acc[p][v] = dot(acc[p][v], values, held);
        }
    }
}

/* Three taps of pixels side by side: each value is loaded once. */
QN_INLINE void taps_next(const int pixels, const int vectors, const char *at, int64_t step,
                         const int32_t *weights, int64_t next, vec acc[16][4]) {
    QN_UNROLL
    for (int x = 0; x < pixels + 2; x++, at += step) {
        QN_UNROLL
        for (int v = 0; v < vectors; v++) {
            vec values = vec_load((const void *)(at + v * (int64_t)sizeof(vec)));
            QN_UNROLL
            for (int kx = 0; kx < 3; kx++) {
                if (x >= kx && x - kx < pixels) {
                    const vec held = vec_load(weights + v * next + kx * LANES);
                    acc[x - kx][v] = dot(acc[x - kx][v], values, held);
                }
            }
        }
    }
}

/* The taps of one group of kernel rows. */
QN_INLINE void strip_taps(const int pixels, const int vectors, const int taps, const walk *w,
                          const char *lanes, const int32_t *weights, vec acc[16][4]) {
    const int64_t next =
        taps == TAPS_ANY ? (int64_t)w->groups * w->kernel_x * LANES : GROUPS_OF_3 * 3 * LANES;
    if (taps == TAPS_NEXT) {
        taps_next(pixels, vectors, lanes, w->in_step, weights, next, acc);
        return;
    }
    const char *at[4] = {lanes, lanes, lanes, lanes};
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        at[p] = lanes + p * w->in_step;
        QN_OPAQUE(at[p]);
    }
    if (taps == TAPS_3X3) {
        tap_any(pixels, vectors, at, 0, weights, next, acc);
        tap_any(pixels, vectors, at, w->tap_step, weights + LANES, next, acc);
        tap_any(pixels, vectors, at, 2 * w->tap_step, weights + 2 * LANES, next, acc);
        return;
    }
    for (int kx = 0; kx < w->kernel_x; kx++) {
        tap_any(pixels, vectors, at, kx * w->tap_step, weights + kx * LANES, next, acc);
    }
}

QN_INLINE void strip_tile(const int pixels, const int vectors, const int taps, const walk *w,
                          const char *lanes, int8_t *out, const stage *last) {
    vec acc[16][4];
    const int32_t *weights = w->weights;
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        QN_UNROLL
        for (int v = 0; v < vectors; v++) {
            acc[p][v] = vec_load(w->start + v * LANES);
        }
    }
    for (int g = 0; g < (taps == TAPS_ANY ? w->groups : GROUPS_OF_3); g++) {
        strip_taps(pixels, vectors, taps, w, lanes, weights, acc);
        lanes += w->group_step;
        weights += (taps == TAPS_ANY ? w->kernel_x : 3) * LANES;
    }
    stage_put(last, out, w->out_step, w->stored, pixels, vectors, acc);
}

/* Tiles of STRIP_PIXELS, then either one more that ends where the row does and overlaps the tile
 * before, or single pixels. */
QN_INLINE void strip_row(const int vectors, const int taps, const walk *given, const char *lanes,
                         int8_t *out, const stage *last) {
    const walk w = *given;
    int32_t left = w.count;
    for (; left > STRIP_PIXELS; left -= STRIP_PIXELS) {
        strip_tile(STRIP_PIXELS, vectors, taps, &w, lanes, out, last);
        lanes += STRIP_PIXELS * w.in_step;
        out += STRIP_PIXELS * w.out_step;
    }
    const int fits = w.behind > 0 ? w.count > STRIP_PIXELS : w.count >= STRIP_PIXELS;
    if (fits && 2 * left > STRIP_PIXELS) {
        const int32_t back = STRIP_PIXELS - left;
        strip_tile(STRIP_PIXELS, vectors, taps, &w, lanes - back * w.in_step - 4 * w.behind,
                   out - back * w.out_step - w.behind, last);
        return;
    }
    for (; left > 0; left--, lanes += w.in_step, out += w.out_step) {
        const int64_t less = left > 1 ? 0 : w.behind;
        strip_tile(1, vectors, taps, &w, lanes - 4 * less, out - less, last);
    }
}

static void strip_row_1(const walk *w, const char *lanes, int8_t *out, const stage *last) {
    switch (taps_of(w)) {
        case TAPS_ANY:
            strip_row(1, TAPS_ANY, w, lanes, out, last);
            break;
        case TAPS_3X3:
            strip_row(1, TAPS_3X3, w, lanes, out, last);
            break;
        default:
            strip_row(1, TAPS_NEXT, w, lanes, out, last);
    }
}

static void strip_row_2(const walk *w, const char *lanes, int8_t *out, const stage *last) {
    switch (taps_of(w)) {
        case TAPS_ANY:
            strip_row(2, TAPS_ANY, w, lanes, out, last);
            break;
        case TAPS_3X3:
            strip_row(2, TAPS_3X3, w, lanes, out, last);
            break;
        default:
            strip_row(2, TAPS_NEXT, w, lanes, out, last);
    }
}

#endif
