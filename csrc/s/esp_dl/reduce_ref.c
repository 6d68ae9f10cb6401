/* Reductions of ESP-DL to norms, products and logarithms, plain. */
#include "floats.h"

/* The device's scale of squares, 1 / (1 << -2 * input_exponent), needs a shift below 31. */
static int l2(const qn_dl_reduce *p, int64_t element, qn_sizes *sizes, char *why) {
    const int status =
        element == 1 ? s_dl_reduce_s8_check(p, sizes, why) : s_dl_reduce_s16_check(p, sizes, why);
    return status == QN_OK ? qn_in_range("input_exponent", p->input_exponent, -15, 15, why)
                           : status;
}

int s_dl_reduce_l2_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return l2(params, 1, sizes, why);
}

int s_dl_reduce_l2_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return l2(params, 2, sizes, why);
}

/* Results so far of a group: a sum of integers, and one of floats. */
typedef struct group {
    int64_t sum;
    double real;
} group;

/* Adds x to a group. */
typedef void add(const qn_dl_reduce *p, group *found, int64_t x, int is_wide);

/* Returns the output of a group. */
typedef int64_t finish(const qn_dl_reduce *p, const group *found, int is_wide);

static int reduce(const qn_dl_reduce *p, const qn_buffers *b, double start, add *next, finish *end,
                  int is_wide) {
    int64_t index = 0;
    for (int32_t a = 0; a < p->kept_0; a++) {
        for (int32_t c = 0; c < p->kept_1; c++) {
            for (int32_t e = 0; e < p->kept_2; e++, index++) {
                group found = {0, start};
                for (int32_t i = 0; i < p->reduced_0; i++) {
                    const int64_t row = ((int64_t)a * p->reduced_0 + i) * p->kept_1 + c;
                    for (int32_t j = 0; j < p->reduced_1; j++) {
                        const int64_t at = (row * p->reduced_1 + j) * p->kept_2 + e;
                        next(p, &found, s_dl_at(b->in[0], at, is_wide), is_wide);
                    }
                }
                s_dl_put(b->out, index, end(p, &found, is_wide), is_wide);
            }
        }
    }
    return QN_OK;
}

/* Sums of 8 bits have 32 bits, which wrap. */
static int64_t wrap(int64_t sum, int is_wide) { return is_wide ? sum : qn_wrap32((uint32_t)sum); }

static float scaled(const qn_dl_reduce *p, int64_t x) {
    return s_dl_mul((float)x, s_dl_power(p->input_exponent));
}

static int64_t rounded(const qn_dl_reduce *p, float v) {
    return s_dl_round(s_dl_mul(v, s_dl_power(-p->output_exponent)), p->chip);
}

/* ---- sums of magnitudes and of squares ---- */

static void add_magnitude(const qn_dl_reduce *p, group *found, int64_t x, int is_wide) {
    (void)p;
    found->sum = wrap(found->sum + (x < 0 ? -x : x), is_wide);
}

static void add_square(const qn_dl_reduce *p, group *found, int64_t x, int is_wide) {
    (void)p;
    found->sum = wrap(found->sum + x * x, is_wide);
}

static void add_value(const qn_dl_reduce *p, group *found, int64_t x, int is_wide) {
    (void)p;
    found->sum = wrap(found->sum + x, is_wide);
}

static int64_t shifted(const qn_dl_reduce *p, const group *found, int is_wide) {
    (void)is_wide;
    return s_dl_shift(found->sum, p->right_shift, p->chip);
}

static int64_t root(const qn_dl_reduce *p, const group *found, int is_wide) {
    (void)is_wide;
    const float squares = s_dl_mul((float)found->sum, s_dl_power(2 * p->input_exponent));
    return rounded(p, s_dl_newton_root(squares));
}

static int64_t logarithm(const qn_dl_reduce *p, const group *found, int is_wide) {
    (void)is_wide;
    return rounded(p, qn_log_f32(scaled(p, found->sum)));
}

/* ---- products and sums of powers ---- */

static void multiply(const qn_dl_reduce *p, group *found, int64_t x, int is_wide) {
    const double product = found->real * scaled(p, x);
    found->real = is_wide ? product : (double)(float)product;
}

/* A double near a half counts as one on an ESP32-P4, as far as 10^-6. */
static int64_t round_double(double v, int32_t chip) {
    if (chip != QN_DL_P4) {
        return s_dl_to_integer(qn_floor_f64(v + 0.5));
    }
    const double away = v < 0 ? v - 0.5 : v + 0.5;
    const int64_t whole =
        away < INT32_MAX && away > INT32_MIN ? (int64_t)away : s_dl_to_integer(away);
    const double rest = away - (double)whole;
    return rest < 1e-6 && rest > -1e-6 && (whole & 1) ? (v < 0 ? whole + 1 : whole - 1) : whole;
}

static int64_t product(const qn_dl_reduce *p, const group *found, int is_wide) {
    const double v = found->real * qn_power_of_two(-p->output_exponent);
    return is_wide ? round_double(v, p->chip) : s_dl_round((float)v, p->chip);
}

static void add_power(const qn_dl_reduce *p, group *found, int64_t x, int is_wide) {
    (void)is_wide;
    found->real = (float)(found->real + qn_exp_f32(scaled(p, x)));
}

static int64_t logarithm_of_powers(const qn_dl_reduce *p, const group *found, int is_wide) {
    (void)is_wide;
    return rounded(p, qn_log_f32((float)found->real));
}

/* ---- rows ---- */

int s_dl_reduce_l1_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_magnitude, shifted, 0);
}

int s_dl_reduce_l1_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_magnitude, shifted, 1);
}

int s_dl_reduce_l2_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_square, root, 0);
}

int s_dl_reduce_l2_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_square, root, 1);
}

int s_dl_reduce_sum_square_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_square, shifted, 0);
}

int s_dl_reduce_sum_square_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_square, shifted, 1);
}

int s_dl_reduce_prod_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 1, multiply, product, 0);
}

int s_dl_reduce_prod_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 1, multiply, product, 1);
}

int s_dl_reduce_log_sum_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_value, logarithm, 0);
}

int s_dl_reduce_log_sum_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_value, logarithm, 1);
}

int s_dl_reduce_log_sum_exp_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_power, logarithm_of_powers, 0);
}

int s_dl_reduce_log_sum_exp_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, 0, add_power, logarithm_of_powers, 1);
}
