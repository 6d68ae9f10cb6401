/* Conversions between types of elements, plain. */
#include "convert.h"

enum { MOST = 1 << 28 };

static int64_t element_of(int32_t type) {
    return type == QN_F_S8 || type == QN_F_B8 ? 1 : type == QN_F_S16 ? 2 : 4;
}

/* The nearest integer toward zero that there is, low <= it < above; both of them doubles. */
static int64_t truncated(float x, double low, double above) {
    return x != x ? 0 : x >= above ? (int64_t)above - 1 : x <= low ? (int64_t)low : (int64_t)x;
}

static int32_t to_s32(float x) { return (int32_t)truncated(x, -0x1p31, 0x1p31); }

int s_cast_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_cast *p = params;
    const s_range all[] = {
        {"length", p->length, 0, MOST},
        {"from", p->from, QN_F_S8, QN_F_B8},
        {"to", p->to, QN_F_S8, QN_F_B8},
    };
    sizes->in[0] = p->length * element_of(p->from);
    sizes->out = p->length * element_of(p->to);
    sizes->in_place = element_of(p->from) == element_of(p->to);
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* Element i of an array of integers. */
static int64_t integer_at(const void *in, int32_t type, int32_t i) {
    switch (type) {
        case QN_F_S8:
            return ((const int8_t *)in)[i];
        case QN_F_S16:
            return ((const int16_t *)in)[i];
        case QN_F_S32:
            return ((const int32_t *)in)[i];
        case QN_F_U32:
            return ((const uint32_t *)in)[i];
        default:
            return ((const uint8_t *)in)[i];
    }
}

static void store(void *out, int32_t type, int32_t i, int64_t x) {
    const uint32_t low = (uint32_t)(uint64_t)x;
    switch (type) {
        case QN_F_S8:
            ((int8_t *)out)[i] = (int8_t)(uint8_t)low;
            break;
        case QN_F_S16:
            ((int16_t *)out)[i] = (int16_t)(uint16_t)low;
            break;
        case QN_F_B8:
            ((uint8_t *)out)[i] = x != 0;
            break;
        default:
            ((uint32_t *)out)[i] = low;
    }
}

int s_cast_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_cast *p = params;
    const float *real = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        if (p->from == QN_F_F32 && p->to == QN_F_F32) {
            out[i] = real[i];
        } else if (p->from == QN_F_F32 && p->to == QN_F_B8) {
            store(out, p->to, i, real[i] != 0);
        } else if (p->from == QN_F_F32) {
            const int64_t x = p->to == QN_F_U32 ? truncated(real[i], 0, 0x1p32) : to_s32(real[i]);
            store(out, p->to, i, x);
        } else if (p->to == QN_F_F32) {
            out[i] = (float)integer_at(b->in[0], p->from, i);
        } else {
            store(out, p->to, i, integer_at(b->in[0], p->from, i));
        }
    }
    return QN_OK;
}

static int check(const qn_s_float_quantize *p, int32_t low, int32_t high, char *why) {
    const float scale = qn_float_of_bits((uint32_t)p->scale_bits);
    const s_range all[] = {
        {"length", p->length, 0, MOST},
        {"zero_point", p->zero_point, low, high},
    };
    if (!(scale > 0) || scale == qn_infinity()) {
        return qn_deny(why, QN_REFUSED, "scale_bits must be those of a positive, finite float32");
    }
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int quantize_check(const qn_s_float_quantize *p, int64_t element, int32_t low,
                          qn_sizes *sizes, char *why) {
    sizes->in[0] = (int64_t)p->length * 4;
    sizes->out = p->length * element;
    return check(p, low, -1 - low, why);
}

int s_quantize_f32_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return quantize_check(params, 1, INT8_MIN, sizes, why);
}

int s_quantize_f32_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return quantize_check(params, 2, INT16_MIN, sizes, why);
}

static int dequantize_check(const qn_s_float_quantize *p, int64_t element, int32_t low,
                            int32_t high, qn_sizes *sizes, char *why) {
    sizes->in[0] = p->length * element;
    sizes->out = (int64_t)p->length * 4;
    return check(p, low, high, why);
}

int s_dequantize_s8_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return dequantize_check(params, 1, INT8_MIN, INT8_MAX, sizes, why);
}

int s_dequantize_u8_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return dequantize_check(params, 1, 0, UINT8_MAX, sizes, why);
}

int s_dequantize_s16_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return dequantize_check(params, 2, INT16_MIN, INT16_MAX, sizes, why);
}

static int32_t quantized(const qn_s_float_quantize *p, float x, int32_t low) {
    const float steps = x / qn_float_of_bits((uint32_t)p->scale_bits);
    int32_t nearest = to_s32(steps);
    const double rest = (double)steps - nearest;
    if (steps < 0x1p23f && steps > -0x1p23f) { /* else it is an integer already */
        nearest += (rest >= 0.5) - (rest <= -0.5);
    }
    return qn_clamp(qn_add32(nearest, p->zero_point), low, -1 - low);
}

int s_quantize_f32_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const float *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)quantized(p, in[i], INT8_MIN);
    }
    return QN_OK;
}

int s_quantize_f32_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const float *in = b->in[0];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)quantized(p, in[i], INT16_MIN);
    }
    return QN_OK;
}

/* The product of a float32 and 17 bits is exact in a double. */
static float dequantized(const qn_s_float_quantize *p, int32_t x) {
    const double scale = qn_float_of_bits((uint32_t)p->scale_bits);
    const double real = scale * (x - p->zero_point), most = 0x1.ffffffp127;
    return real >= most ? qn_infinity() : real <= -most ? -qn_infinity() : (float)real;
}

int s_dequantize_s8_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const int8_t *in = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = dequantized(p, in[i]);
    }
    return QN_OK;
}

int s_dequantize_u8_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const uint8_t *in = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = dequantized(p, in[i]);
    }
    return QN_OK;
}

int s_dequantize_s16_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_quantize *p = params;
    const int16_t *in = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = dequantized(p, in[i]);
    }
    return QN_OK;
}
