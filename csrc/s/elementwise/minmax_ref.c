/* Smaller and larger of two images, plain. */
#include "minmax.h"

/* The sides of both inputs, outermost first. */
typedef struct pair {
    int32_t of1[4], of2[4];
} pair;

static pair sides(const qn_s_minmax *p) {
    return (pair){{p->input1_n, p->input1_h, p->input1_w, p->input1_c},
                  {p->input2_n, p->input2_h, p->input2_w, p->input2_c}};
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* Does Arm's function lose its place in an input of these sides next to the other one? */
static int strays(const int32_t *own, const int32_t *other) {
    return own[1] > 1 && own[2] == 1 && own[3] == 1 && other[2] > 1;
}

static int broadcasts(const pair *s, char *why) {
    static const char *const axes[] = {"n", "h", "w", "c"};
    for (int i = 0; i < 4; i++) {
        int32_t a = s->of1[i], b = s->of2[i];
        if (a != b && a != 1 && b != 1) {
            return qn_deny(why, QN_REFUSED,
                           "input1_%s and input2_%s must be equal, or one of them 1, are %ld, %ld",
                           axes[i], axes[i], (long)a, (long)b);
        }
    }
    if (strays(s->of1, s->of2) || strays(s->of2, s->of1)) {
        return qn_deny(why, QN_REFUSED,
                       "an input [n, h, 1, 1] beside one with w > 1: the device reads beside it; "
                       "give it the other's w");
    }
    return QN_OK;
}

int s_minmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_minmax *p = params;
    const pair s = sides(p);
    int32_t out[4];
    const s_range all[] = {
        {"input1_n", p->input1_n, 1, UINT16_MAX}, {"input1_h", p->input1_h, 1, UINT16_MAX},
        {"input1_w", p->input1_w, 1, UINT16_MAX}, {"input1_c", p->input1_c, 1, UINT16_MAX},
        {"input2_n", p->input2_n, 1, UINT16_MAX}, {"input2_h", p->input2_h, 1, UINT16_MAX},
        {"input2_w", p->input2_w, 1, UINT16_MAX}, {"input2_c", p->input2_c, 1, UINT16_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status == QN_OK) {
        status = broadcasts(&s, why);
    }
    if (status != QN_OK) {
        return status;
    }
    for (int i = 0; i < 4; i++) {
        out[i] = larger(s.of1[i], s.of2[i]);
    }
    sizes->in[0] = s_elements(1, s.of1, 4);
    sizes->in[1] = s_elements(1, s.of2, 4);
    sizes->out = s_elements(1, out, 4);
    sizes->in_place = 1;
    return sizes->out < 0 ? s_too_large("output", why) : QN_OK;
}

/* Elements from one index of each axis to the next; 0 along an axis of one element. */
static void strides(const int32_t *sides, int64_t *steps) {
    int64_t step = 1;
    for (int i = 3; i >= 0; i--) {
        steps[i] = sides[i] == 1 ? 0 : step;
        step *= sides[i];
    }
}

static int choose(const qn_s_minmax *p, const qn_buffers *b, int32_t sign) {
    const pair s = sides(p);
    const int8_t *in1 = b->in[0], *in2 = b->in[1];
    int8_t *out = b->out;
    int64_t d1[4], d2[4];
    strides(s.of1, d1);
    strides(s.of2, d2);
    for (int32_t n = 0; n < larger(s.of1[0], s.of2[0]); n++) {
        for (int32_t h = 0; h < larger(s.of1[1], s.of2[1]); h++) {
            for (int32_t w = 0; w < larger(s.of1[2], s.of2[2]); w++) {
                const int8_t *x = in1 + n * d1[0] + h * d1[1] + w * d1[2];
                const int8_t *y = in2 + n * d2[0] + h * d2[1] + w * d2[2];
                for (int32_t c = 0; c < larger(s.of1[3], s.of2[3]); c++) {
                    int8_t a = x[c * d1[3]], e = y[c * d2[3]];
                    *out++ = sign * a > sign * e ? a : e;
                }
            }
        }
    }
    return QN_OK;
}

int s_maximum_s8_ref(const void *params, const qn_buffers *b) { return choose(params, b, 1); }

int s_minimum_s8_ref(const void *params, const qn_buffers *b) { return choose(params, b, -1); }
