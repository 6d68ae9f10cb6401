/* quantize_per_tensor and quantized_div of ExecuTorch, plain, and quantizing as Helium does it. */
#include "executorch.h"

enum { MOST = 1 << 28, HALF_RANGE_BITS = 0x4b400000 };

static int is_scale(int32_t bits) {
    const float scale = qn_float_of_bits((uint32_t)bits);
    return scale > 0 && scale < qn_infinity();
}

static int quantize_check(const qn_s_quantize_per_tensor *p, int64_t element, int32_t low,
                          qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"length", p->length, 0, MOST},
        {"zero_point", p->zero_point, INT16_MIN, INT16_MAX},
        {"quant_min", p->quant_min, low, p->quant_max},
        {"quant_max", p->quant_max, low, -1 - low},
    };
    if (!is_scale(p->scale_bits)) {
        return qn_deny(why, QN_REFUSED, "scale_bits must be those of a positive, finite float32");
    }
    sizes->in[0] = (int64_t)p->length * 4;
    sizes->out = p->length * element;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_quantize_per_tensor_f32_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return quantize_check(params, 1, INT8_MIN, sizes, why);
}

int s_quantize_per_tensor_f32_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return quantize_check(params, 2, INT16_MIN, sizes, why);
}

/* The nearest integer, halves to even; the nearest int32 of what is larger, 0 of NaN. */
static int32_t nearest(float x) {
    if (!(x < 0x1p31f && x >= -0x1p31f)) {
        return x != x ? 0 : x < 0 ? INT32_MIN : INT32_MAX;
    }
    const int32_t whole = (int32_t)x;
    const double rest = (double)x - whole;
    const int away = rest >= 0.5 || rest <= -0.5, half = rest == 0.5 || rest == -0.5;
    return whole + (away && (!half || whole % 2) ? (rest > 0 ? 1 : -1) : 0);
}

static float inverse_of(const qn_s_quantize_per_tensor *p) {
    return 1.0f / qn_float_of_bits((uint32_t)p->scale_bits);
}

static int32_t quantized(const qn_s_quantize_per_tensor *p, float inverse, float x) {
    const float steps = inverse * x;
    return qn_clamp(qn_add32(nearest(steps), p->zero_point), p->quant_min, p->quant_max);
}

/* a * b + c rounded once to single precision: the product is exact in double precision. */
static float fused(float a, float b, float c) {
    const double product = (double)a * b, sum = product + c, back = sum - product;
    const double rest = (product - (sum - back)) + (c - back);
    if (rest != rest) { /* of an infinity, or of a NaN */
        return sum > 0 ? qn_infinity() : sum < 0 ? -qn_infinity() : qn_nan();
    }
    return qn_pair_to_float((qn_pair){sum, rest}, 0);
}

/* An element of a whole group, before it is clamped, as Helium has it. */
static int32_t helium(const qn_s_quantize_per_tensor *p, float inverse, float x) {
    const float shifted = fused(x, inverse, 12582912.0f);
    const uint32_t bits = shifted != shifted ? UINT32_C(0x7fc00000) : qn_bits_of_float(shifted);
    return qn_wrap32(bits - HALF_RANGE_BITS + (uint32_t)p->zero_point);
}

int s_quantize_per_tensor_f32_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantize_per_tensor *p = params;
    const float *in = b->in[0], inverse = inverse_of(p);
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)quantized(p, inverse, in[i]);
    }
    return QN_OK;
}

int s_quantize_per_tensor_f32_s8_mve_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantize_per_tensor *p = params;
    const float *in = b->in[0], inverse = inverse_of(p);
    int8_t *out = b->out;
    int32_t i = 0;
    for (; i < p->length - p->length % 16; i++) {
        const int32_t low = qn_wrap16(helium(p, inverse, in[i]));
        out[i] = (int8_t)qn_clamp(low, p->quant_min, p->quant_max);
    }
    for (; i < p->length; i++) {
        out[i] = (int8_t)quantized(p, inverse, in[i]);
    }
    return QN_OK;
}

int s_quantize_per_tensor_f32_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantize_per_tensor *p = params;
    const float *in = b->in[0], inverse = inverse_of(p);
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)quantized(p, inverse, in[i]);
    }
    return QN_OK;
}

int s_quantize_per_tensor_f32_s16_mve_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantize_per_tensor *p = params;
    const float *in = b->in[0], inverse = inverse_of(p);
    int16_t *out = b->out;
    int32_t i = 0;
    for (; i < p->length - p->length % 8; i++) {
        out[i] = (int16_t)qn_clamp(helium(p, inverse, in[i]), p->quant_min, p->quant_max);
    }
    for (; i < p->length; i++) {
        out[i] = (int16_t)quantized(p, inverse, in[i]);
    }
    return QN_OK;
}

static int div_check(const qn_s_quantized_div *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"length", p->length, 0, MOST},
        {"zero_point_1", p->zero_point_1, INT16_MIN, INT16_MAX},
        {"zero_point_2", p->zero_point_2, INT16_MIN, INT16_MAX},
        {"output_zero_point", p->output_zero_point, INT16_MIN, INT16_MAX},
    };
    if (!is_scale(p->factor_bits)) {
        return qn_deny(why, QN_REFUSED, "factor_bits must be those of a positive, finite float32");
    }
    sizes->in[0] = sizes->in[1] = sizes->out = p->length * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_quantized_div_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return div_check(params, 1, sizes, why);
}

int s_quantized_div_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return div_check(params, 2, sizes, why);
}

/* The nearest integer, halves away from zero, which a float32 from 2^23 on is already. */
static float rounded(float x) {
    if (!(x < 0x1p23f && x > -0x1p23f)) {
        return x;
    }
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    return (float)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}

static int32_t quotient(const qn_s_quantized_div *p, int32_t a, int32_t b, int32_t low) {
    const float divisor = (float)(b - p->zero_point_2);
    const float q = divisor == 0 ? 0.0f : (float)(a - p->zero_point_1) / divisor;
    const float scaled = q * qn_float_of_bits((uint32_t)p->factor_bits);
    const float x = rounded(scaled) + (float)p->output_zero_point;
    return x<(float)low ? low : x>(float)(-1 - low) ? -1 - low : (int32_t)x;
}

int s_quantized_div_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantized_div *p = params;
    const int8_t *one = b->in[0], *two = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int8_t)quotient(p, one[i], two[i], INT8_MIN);
    }
    return QN_OK;
}

int s_quantized_div_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_quantized_div *p = params;
    const int16_t *one = b->in[0], *two = b->in[1];
    int16_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = (int16_t)quotient(p, one[i], two[i], INT16_MIN);
    }
    return QN_OK;
}
