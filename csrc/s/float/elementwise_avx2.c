/* Operators on pairs of int32, and what makes float32 of bytes: the compiler's loops on AVX2. */
#include "convert.h"
#include "elementwise.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

/* A quotient toward zero. Of doubles it is never rounded to an integer that it is not: it lies at
 * least 1 / 2^31 from each, and has no more than 31 bits before the point. */
static inline int32_t over(int32_t a, int32_t b) {
    const double quotient = (b == 0 ? 0.0 : (double)a) / (b == 0 ? 1.0 : (double)b);
    return (int32_t)(quotient < 0x1p31 ? quotient : -0x1p31); /* -2^31 / -1 */
}

static inline int32_t times(int32_t a, int32_t b) { return qn_wrap32((uint32_t)a * (uint32_t)b); }

/* A value of all pairs x, y, within the limits of the activation. */
#define EACH(value)                                      \
    for (int32_t i = 0; i < p->length; i++) {            \
        const int32_t x = first[i], y = second[i];       \
        const int32_t found = value;                     \
        const int32_t above = found < low ? low : found; \
        out[i] = above < high ? above : high;            \
    }                                                    \
    break

int s_binary_s32_avx2(const void *params, const qn_buffers *b) {
    const qn_s_float_binary *p = params;
    const int keep = p->what <= QN_F_DIV ? p->activation : QN_F_KEEP_ALL;
    const int is_unit = keep == QN_F_KEEP_RELU_N1_TO_1;
    const int32_t low = keep == QN_F_KEEP_ALL ? INT32_MIN : is_unit ? -1 : 0;
    const int32_t high = keep == QN_F_KEEP_RELU6 ? 6 : is_unit ? 1 : INT32_MAX;
    const int32_t *first = b->in[0], *second = b->in[1];
    int32_t *out = b->out;
    switch (p->what) {
        case QN_F_ADD:
            EACH(qn_add32(x, y));
        case QN_F_SUB:
            EACH(qn_sub32(x, y));
        case QN_F_MUL:
            EACH(times(x, y));
        case QN_F_DIV:
            EACH(over(x, y));
        case QN_F_MAXIMUM:
            EACH(x > y ? x : y);
        case QN_F_MINIMUM:
            EACH(x < y ? x : y);
        default:
            EACH(times(qn_sub32(x, y), qn_sub32(x, y)));
    }
    return QN_OK;
}

int s_dequantize_s8_f32_avx2(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const float scale = qn_float_of_bits((uint32_t)p->scale_bits);
    const int8_t *in = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] =
            scale * (float)(in[i] - p->zero_point); /* of 9 bits: rounded once, by the product */
    }
    return QN_OK;
}

#include "../../gemm/target_end.inc"

#endif
