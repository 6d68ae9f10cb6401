/* Smaller and larger of two images on AVX2, a row at a time; of images of the same sides, all at
 * once. */
#include "minmax.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

/* Elements of an input from one index of each axis to the next; 0 along an axis of one element. */
typedef struct walk {
    int64_t n, h, w, c;
} walk;

static walk walk_of(int64_t n, int64_t h, int64_t w, int64_t c) {
    return (walk){n > 1 ? h * w * c : 0, h > 1 ? w * c : 0, w > 1 ? c : 0, c > 1};
}

static inline int8_t chosen(int8_t a, int8_t e, int most) {
    return most ? (a > e ? a : e) : (a < e ? a : e);
}

/* In place with either input, or not. */
static inline void row(const int8_t *x, int64_t step_x, const int8_t *y, int64_t step_y,
                       int64_t count, int most, int8_t *out) {
    if (step_x && step_y) {
        for (int64_t c = 0; c < count; c++) {
            out[c] = chosen(x[c], y[c], most);
        }
        return;
    }
    const int8_t *many = step_x ? x : y, one = step_x ? *y : *x;
    if (!step_x && !step_y) {
        *out = chosen(*x, *y, most);
        return;
    }
    for (int64_t c = 0; c < count; c++) {
        out[c] = chosen(many[c], one, most);
    }
}

static inline int choose(const qn_s_minmax *p, const qn_buffers *b, int most) {
    const walk dx = walk_of(p->input1_n, p->input1_h, p->input1_w, p->input1_c);
    const walk dy = walk_of(p->input2_n, p->input2_h, p->input2_w, p->input2_c);
    const int32_t all_n = p->input1_n > p->input2_n ? p->input1_n : p->input2_n;
    const int32_t all_h = p->input1_h > p->input2_h ? p->input1_h : p->input2_h;
    const int32_t all_w = p->input1_w > p->input2_w ? p->input1_w : p->input2_w;
    const int32_t all_c = p->input1_c > p->input2_c ? p->input1_c : p->input2_c;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    if (dx.n == dy.n && dx.h == dy.h && dx.w == dy.w && dx.c == dy.c) {
        row(x, 1, y, 1, (int64_t)all_n * all_h * all_w * all_c, most, out);
        return QN_OK;
    }
    for (int32_t n = 0; n < all_n; n++) {
        for (int32_t h = 0; h < all_h; h++) {
            for (int32_t w = 0; w < all_w; w++, out += all_c) {
                row(x + n * dx.n + h * dx.h + w * dx.w, dx.c, y + n * dy.n + h * dy.h + w * dy.w,
                    dy.c, all_c, most, out);
            }
        }
    }
    return QN_OK;
}

int s_maximum_s8_avx2(const void *params, const qn_buffers *b) { return choose(params, b, 1); }

int s_minimum_s8_avx2(const void *params, const qn_buffers *b) { return choose(params, b, 0); }

#include "../../gemm/target_end.inc"

#endif
