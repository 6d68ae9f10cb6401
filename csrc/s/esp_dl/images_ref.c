/* Pools, reductions and resizing of ESP-DL, plain. */
#include "floats.h"

/* ---- average pooling ---- */

static int pool(const qn_dl_pool *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},   {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},   {"channels", p->channels, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX}, {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX}, {"output_w", p->output_w, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX}, {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, UINT16_MAX},       {"pad_w", p->pad_w, 0, UINT16_MAX},
        {"right_shift", p->right_shift, -31, 31}, {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status == QN_OK && (int64_t)p->filter_h * p->filter_w > UINT16_MAX) {
        return qn_deny(why, QN_REFUSED, "a window has at most 65535 cells, has %ld x %ld",
                       (long)p->filter_h, (long)p->filter_w);
    }
    if (status != QN_OK) {
        return status;
    }
    const int32_t image[] = {p->batches, p->input_h, p->input_w, p->channels};
    const int32_t result[] = {p->batches, p->output_h, p->output_w, p->channels};
    const int64_t in = s_elements(element, image, 4), out = s_elements(element, result, 4);
    sizes->in[0] = in * element;
    sizes->out = out * element;
    return in < 0 || out < 0 ? s_too_large(in < 0 ? "input" : "output", why) : QN_OK;
}

int s_dl_average_pool_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return pool(params, 1, sizes, why);
}

int s_dl_average_pool_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return pool(params, 2, sizes, why);
}

static int64_t sum_of_cells(const qn_dl_pool *p, const qn_buffers *b, const int32_t place[4],
                            int is_wide) {
    const s_dl_span rows = s_dl_inside(place[1], p->stride_h, p->pad_h, p->filter_h, p->input_h);
    const s_dl_span columns = s_dl_inside(place[2], p->stride_w, p->pad_w, p->filter_w, p->input_w);
    int64_t sum = 0; /* at most 65535 cells of 16 bits */
    for (int64_t y = rows.start; y < rows.stop; y++) {
        for (int64_t x = columns.start; x < columns.stop; x++) {
            const int64_t pixel = ((int64_t)place[0] * p->input_h + y) * p->input_w + x;
            sum += s_dl_at(b->in[0], pixel * p->channels + place[3], is_wide);
        }
    }
    return sum;
}

static int average(const qn_dl_pool *p, const qn_buffers *b, int is_wide) {
    const float scale = s_dl_average_scale(p);
    int64_t index = 0;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t c = 0; c < p->channels; c++, index++) {
                    int64_t sum = sum_of_cells(p, b, (int32_t[]){n, y, x, c}, is_wide);
                    float v = s_dl_mul((float)sum, scale);
                    s_dl_put(b->out, index, s_dl_round(v, p->chip), is_wide);
                }
            }
        }
    }
    return QN_OK;
}

int s_dl_average_pool_s8_ref(const void *params, const qn_buffers *b) {
    return average(params, b, 0);
}

int s_dl_average_pool_s16_ref(const void *params, const qn_buffers *b) {
    return average(params, b, 1);
}

/* ---- reductions ---- */

static int reduction(const qn_dl_reduce *p, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t sides[] = {p->kept_0, p->reduced_0, p->kept_1, p->reduced_1, p->kept_2};
    const s_range all[] = {
        {"kept_0", p->kept_0, 1, INT32_MAX},
        {"reduced_0", p->reduced_0, 1, INT32_MAX},
        {"kept_1", p->kept_1, 1, INT32_MAX},
        {"reduced_1", p->reduced_1, 1, INT32_MAX},
        {"kept_2", p->kept_2, 1, INT32_MAX},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
        {"right_shift", p->right_shift, -31, 31},
        {"input_exponent", p->input_exponent, -30, 30},
        {"output_exponent", p->output_exponent, -30, 30},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int64_t count = s_elements(element, sides, 5);
    if (count < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = count * element;
    sizes->out = count / p->reduced_0 / p->reduced_1 * element;
    return QN_OK;
}

int s_dl_reduce_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return reduction(params, 1, sizes, why);
}

int s_dl_reduce_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return reduction(params, 2, sizes, why);
}

/* Sum, largest and least element of a group. */
typedef struct group {
    int64_t sum, most, least;
} group;

/* That of output (a, c, e). */
static group group_at(const qn_dl_reduce *p, const qn_buffers *b, const int32_t place[3],
                      int is_wide) {
    group found = {0, INT16_MIN, INT16_MAX};
    for (int32_t i = 0; i < p->reduced_0; i++) {
        for (int32_t j = 0; j < p->reduced_1; j++) {
            int64_t at = (int64_t)place[0] * p->reduced_0 + i;
            at = (at * p->kept_1 + place[1]) * p->reduced_1 + j;
            const int64_t x = s_dl_at(b->in[0], at * p->kept_2 + place[2], is_wide);
            found.sum += x;
            found.most = x > found.most ? x : found.most;
            found.least = x < found.least ? x : found.least;
        }
    }
    return found;
}

typedef int64_t finish(const qn_dl_reduce *p, const group *found);

static int64_t mean(const qn_dl_reduce *p, const group *found) {
    const float count = (float)((int64_t)p->reduced_0 * p->reduced_1);
    const float v = s_dl_div((float)found->sum, count);
    return s_dl_round(s_dl_mul(v, s_dl_power(-p->right_shift)), p->chip);
}

static int64_t sum(const qn_dl_reduce *p, const group *found) {
    return s_dl_shift(found->sum, p->right_shift, p->chip);
}

static int64_t most(const qn_dl_reduce *p, const group *found) {
    (void)p;
    return found->most;
}

static int64_t least(const qn_dl_reduce *p, const group *found) {
    (void)p;
    return found->least;
}

static int reduce(const qn_dl_reduce *p, const qn_buffers *b, finish *end, int is_wide) {
    int64_t index = 0;
    for (int32_t a = 0; a < p->kept_0; a++) {
        for (int32_t c = 0; c < p->kept_1; c++) {
            for (int32_t e = 0; e < p->kept_2; e++, index++) {
                const group found = group_at(p, b, (int32_t[]){a, c, e}, is_wide);
                s_dl_put(b->out, index, end(p, &found), is_wide);
            }
        }
    }
    return QN_OK;
}

int s_dl_reduce_mean_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, mean, 0);
}

int s_dl_reduce_mean_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, mean, 1);
}

int s_dl_reduce_sum_s8_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, sum, 0);
}

int s_dl_reduce_sum_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, sum, 1);
}

int s_dl_reduce_max_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, most, 1);
}

int s_dl_reduce_min_s16_ref(const void *params, const qn_buffers *b) {
    return reduce(params, b, least, 1);
}

/* ---- resizing ---- */

static int resize(const qn_dl_resize *p, int is_linear, qn_sizes *sizes, char *why) {
    const int32_t least_w = is_linear ? 2 : 1, least_h = is_linear && p->axes == 2 ? 2 : 1;
    const int grown = p->chip == QN_DL_C ? 20 : 6; /* bits that an element may grow by */
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"axes", p->axes, 1, 2},
        {"input_h", p->input_h, least_h, p->axes == 1 ? 1 : UINT16_MAX},
        {"input_w", p->input_w, least_w, UINT16_MAX},
        {"channels", p->channels, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, p->axes == 1 ? 1 : UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"align_corners", p->align_corners, 0, 1},
        {"input_exponent", p->input_exponent, -30, 30},
        {"output_exponent", p->output_exponent, is_linear ? -30 : p->input_exponent - grown, 30},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int doubles = p->output_h == 2 * p->input_h && p->output_w == 2 * p->input_w;
    if (!is_linear && p->chip == QN_DL_S3 && !doubles && p->channels < 16) {
        return qn_deny(
            why, QN_REFUSED,
            "%ld channels are resized to the nearest pixel on an ESP32-S3, whose kernel uses "
            "a register that it has not loaded; use 16 channels, or double both sides",
            (long)p->channels);
    }
    const int32_t image[] = {p->batches, p->input_h, p->input_w, p->channels};
    const int32_t result[] = {p->batches, p->output_h, p->output_w, p->channels};
    sizes->in[0] = s_elements(1, image, 4);
    sizes->out = s_elements(1, result, 4);
    return sizes->in[0] < 0 || sizes->out < 0 ? s_too_large("image", why) : QN_OK;
}

int s_dl_resize_nearest_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return resize(params, 0, sizes, why);
}

int s_dl_resize_linear_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return resize(params, 1, sizes, why);
}

/* The pixel nearest to `place` of the output. */
static int64_t nearest(int32_t place, int32_t bits, int32_t input) {
    const float at = s_dl_mul((float)place, qn_float_of_bits((uint32_t)bits));
    const int64_t pixel = s_dl_to_integer(qn_floor_f64(at));
    return qn_clamp64(pixel, 0, input - 1);
}

int s_dl_resize_nearest_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_resize *p = params;
    const int shift = p->output_exponent - p->input_exponent;
    const int wraps = p->chip == QN_DL_C; /* portable C converts a larger integer */
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int64_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            const int64_t row = n * p->input_h + nearest(y, p->inverse_h_bits, p->input_h);
            for (int32_t x = 0; x < p->output_w; x++) {
                const int64_t pixel = row * p->input_w + nearest(x, p->inverse_w_bits, p->input_w);
                for (int32_t c = 0; c < p->channels; c++) {
                    int64_t v = s_dl_shift(in[pixel * p->channels + c], shift, p->chip);
                    *out++ = wraps ? (int8_t)s_dl_wrap8(v) : s_dl_sat8(v);
                }
            }
        }
    }
    return QN_OK;
}

/* Two pixels next to each other, and their shares. */
typedef struct blend {
    int64_t first;
    float share_0, share_1;
} blend;

static blend blend_at(const qn_dl_resize *p, int32_t place, int32_t bits, int32_t input) {
    const float inverse = qn_float_of_bits((uint32_t)bits);
    float at = p->align_corners ? s_dl_mul((float)place, inverse)
                                : s_dl_sum(s_dl_mul(s_dl_sum((float)place, 0.5f), inverse), -0.5f);
    int64_t first = s_dl_to_integer(qn_floor_f64(at));
    at = s_dl_sum(at, -(float)first);
    if (first < 0) {
        first = 0;
        at = 0;
    }
    if (first >= input - 1) {
        first = input - 2;
        at = 1;
    }
    return (blend){first, s_dl_sum(1, -at), at};
}

/* The sum of two numbers by their shares. */
static float blended(const blend *of, float first, float second) {
    return s_dl_sum(s_dl_mul(first, of->share_0), s_dl_mul(second, of->share_1));
}

static float blended_row(const qn_dl_resize *p, const int8_t *row, const blend *x, int32_t c) {
    const float scale = s_dl_power(p->input_exponent);
    const int8_t *pixel = row + x->first * p->channels + c;
    return blended(x, s_dl_mul(pixel[0], scale), s_dl_mul(pixel[p->channels], scale));
}

int s_dl_resize_linear_s8_ref(const void *params, const qn_buffers *b) {
    const qn_dl_resize *p = params;
    const float scale = s_dl_power(-p->output_exponent);
    const int64_t pitch = (int64_t)p->input_w * p->channels;
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        const int8_t *image = (const int8_t *)b->in[0] + n * p->input_h * pitch;
        for (int32_t y = 0; y < p->output_h; y++) {
            const blend rows =
                p->axes == 2 ? blend_at(p, y, p->inverse_h_bits, p->input_h) : (blend){0, 1, 0};
            const int8_t *row = image + rows.first * pitch;
            for (int32_t x = 0; x < p->output_w; x++) {
                const blend columns = blend_at(p, x, p->inverse_w_bits, p->input_w);
                for (int32_t c = 0; c < p->channels; c++) {
                    float v = blended_row(p, row, &columns, c);
                    if (p->axes == 2) {
                        v = blended(&rows, v, blended_row(p, row + pitch, &columns, c));
                    }
                    *out++ = s_dl_sat8(s_dl_round(s_dl_mul(v, scale), p->chip));
                }
            }
        }
    }
    return QN_OK;
}
