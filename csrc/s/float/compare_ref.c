/* Comparisons of elements, plain. */
#include "elementwise.h"

static int check(const qn_s_float_compare *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"length", p->length, 0, (int32_t)(S_REAL_MOST * INT64_C(4) / (element > 4 ? element : 4))},
        {"what", p->what, QN_F_EQUAL, QN_F_LESS_EQUAL},
    };
    sizes->in[0] = sizes->in[1] = p->length * element;
    sizes->out = p->length;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_compare_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 4, sizes, why);
}

int s_compare_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 4, sizes, why);
}

int s_compare_s64_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 8, sizes, why);
}

/* The three orders of two numbers; none with a NaN. */
static uint8_t holds(int32_t what, int less, int equal, int greater) {
    switch (what) {
        case QN_F_EQUAL:
            return equal != 0;
        case QN_F_NOT_EQUAL:
            return !equal;
        case QN_F_GREATER:
            return greater != 0;
        case QN_F_GREATER_EQUAL:
            return greater || equal;
        case QN_F_LESS:
            return less != 0;
        default:
            return less || equal;
    }
}

int s_compare_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_compare *p = params;
    const float *first = b->in[0], *second = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const float a = first[i], c = second[i];
        out[i] = holds(p->what, a<c, a == c, a> c);
    }
    return QN_OK;
}

int s_compare_s32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_compare *p = params;
    const int32_t *first = b->in[0], *second = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const int32_t a = first[i], c = second[i];
        out[i] = holds(p->what, a<c, a == c, a> c);
    }
    return QN_OK;
}

int s_compare_s64_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_compare *p = params;
    const int64_t *first = b->in[0], *second = b->in[1];
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const int64_t a = first[i], c = second[i];
        out[i] = holds(p->what, a<c, a == c, a> c);
    }
    return QN_OK;
}
