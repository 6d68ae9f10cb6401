/* Operators on each element of float32 or int32, plain. */
#include "elementwise.h"

int s_unary_f32_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_float_unary *p = params;
    const s_range all[] = {
        {"length", p->length, 0, S_REAL_MOST},
        {"what", p->what, QN_F_NEG, QN_F_HARD_SWISH},
    };
    sizes->in[0] = sizes->out = (int64_t)p->length * 4;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static float round_to_even(float x) {
    const float below = qn_floor_f32(x);
    const float rest = x - below;
    const int to_below = rest < 0.5f || (rest == 0.5f && (int32_t)below % 2 == 0);
    return to_below ? below : below + 1.0f;
}

static float logistic(float x) {
    if (x > 16.619047164916992188f || x < -9.0f) {
        return x > 0 ? 1.0f : qn_exp_f32(x);
    }
    const float sum = 1.0f + qn_exp_f32(-x);
    return 1.0f / sum;
}

static float hard_swish(float x) {
    const float moved = x + 3.0f, above = 0.0f < moved ? moved : 0.0f;
    const float product = x * (above < 6.0f ? above : 6.0f);
    return product / 6.0f;
}

static float unary(const qn_s_float_unary *p, float x) {
    switch (p->what) {
        case QN_F_NEG:
            return -x;
        case QN_F_ABS:
            return qn_float_of_bits(qn_bits_of_float(x) & 0x7fffffff);
        case QN_F_SQRT:
            return qn_sqrt_f32(x);
        case QN_F_RSQRT:
            return 1.0f / qn_sqrt_f32(x);
        case QN_F_SQUARE:
            return x * x;
        case QN_F_EXP:
            return qn_exp_f32(x);
        case QN_F_LOG:
            return qn_log_f32(x);
        case QN_F_SIN:
            return qn_sin_f32(x);
        case QN_F_COS:
            return qn_cos_f32(x);
        case QN_F_CEIL:
            return -qn_floor_f32(-x);
        case QN_F_FLOOR:
            return qn_floor_f32(x);
        case QN_F_ROUND:
            return round_to_even(x);
        case QN_F_RELU:
            return x < 0 ? 0.0f : x;
        case QN_F_RELU6:
            return x > 6.0f ? 6.0f : x < 0 ? 0.0f : x;
        case QN_F_LEAKY_RELU:
            return x > 0 ? x : x * qn_float_of_bits((uint32_t)p->alpha_bits);
        case QN_F_ELU:
            return x < 0 ? qn_expm1_f32(x) : x;
        case QN_F_LOGISTIC:
            return logistic(x);
        case QN_F_TANH:
            return qn_tanh_f32(x);
        default:
            return hard_swish(x);
    }
}

int s_unary_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_unary *p = params;
    const float *in = b->in[0];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = unary(p, in[i]);
    }
    return QN_OK;
}

static int binary_check(const qn_s_float_binary *p, int32_t first, int32_t last, int32_t element,
                        qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"length", p->length, 0, S_REAL_MOST / element * 4},
        {"what", p->what, first, last},
        {"activation", p->activation, QN_F_KEEP_ALL, QN_F_KEEP_RELU6},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = (int64_t)p->length * element;
    sizes->in_place = 1;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_binary_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return binary_check(params, QN_F_ADD, QN_F_PRELU, 4, sizes, why);
}

int s_binary_s32_check(const void *params, qn_sizes *sizes, char *why) {
    return binary_check(params, QN_F_ADD, QN_F_SQUARED_DIFFERENCE, 4, sizes, why);
}

int s_binary_s64_check(const void *params, qn_sizes *sizes, char *why) {
    return binary_check(params, QN_F_MAXIMUM, QN_F_MINIMUM, 8, sizes, why);
}

static float floor_div(float a, float b) {
    const double quotient = qn_floor_f64((double)a / (double)b), most = 0x1.ffffffp127;
    if (quotient >= most || quotient <= -most) {
        return quotient > 0 ? qn_infinity() : -qn_infinity();
    }
    return (float)quotient;
}

static float floor_mod(float a, float b) {
    const float rest = qn_fmod_f32(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

static float binary(const qn_s_float_binary *p, float a, float b) {
    const float difference = a - b;
    switch (p->what) {
        case QN_F_ADD:
            return s_keep(a + b, p->activation);
        case QN_F_SUB:
            return s_keep(difference, p->activation);
        case QN_F_MUL:
            return s_keep(a * b, p->activation);
        case QN_F_DIV:
            return s_keep(a / b, p->activation);
        case QN_F_MAXIMUM:
            return a > b ? a : b;
        case QN_F_MINIMUM:
            return a < b ? a : b;
        case QN_F_SQUARED_DIFFERENCE:
            return difference * difference;
        case QN_F_FLOOR_DIV:
            return floor_div(a, b);
        case QN_F_FLOOR_MOD:
            return floor_mod(a, b);
        default:
            return a >= 0 ? a : a * b;
    }
}

int s_binary_f32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_binary *p = params;
    const float *first = b->in[0], *second = b->in[1];
    float *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = binary(p, first[i], second[i]);
    }
    return QN_OK;
}

static int32_t keep(int32_t x, int32_t activation) {
    switch (activation) {
        case QN_F_KEEP_ALL:
            return x;
        case QN_F_KEEP_RELU:
            return qn_clamp(x, 0, INT32_MAX);
        case QN_F_KEEP_RELU_N1_TO_1:
            return qn_clamp(x, -1, 1);
        default:
            return qn_clamp(x, 0, 6);
    }
}

static int32_t times(int32_t a, int32_t b) { return qn_wrap32((uint32_t)a * (uint32_t)b); }

static int32_t over(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? qn_sub32(0, a) : a / b; }

static int32_t binary_s32(const qn_s_float_binary *p, int32_t a, int32_t b) {
    const int32_t difference = qn_sub32(a, b);
    switch (p->what) {
        case QN_F_ADD:
            return keep(qn_add32(a, b), p->activation);
        case QN_F_SUB:
            return keep(difference, p->activation);
        case QN_F_MUL:
            return keep(times(a, b), p->activation);
        case QN_F_DIV:
            return keep(over(a, b), p->activation);
        case QN_F_MAXIMUM:
            return a > b ? a : b;
        case QN_F_MINIMUM:
            return a < b ? a : b;
        default:
            return times(difference, difference);
    }
}

int s_binary_s32_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_binary *p = params;
    const int32_t *first = b->in[0], *second = b->in[1];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = binary_s32(p, first[i], second[i]);
    }
    return QN_OK;
}

int s_binary_s64_ref(const void *params, const qn_buffers *b) {
    const qn_s_float_binary *p = params;
    const int64_t *first = b->in[0], *second = b->in[1];
    int64_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        const int larger = first[i] > second[i];
        out[i] = larger == (p->what == QN_F_MAXIMUM) ? first[i] : second[i];
    }
    return QN_OK;
}
