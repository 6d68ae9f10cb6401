/* The executor of programs: one operation after the other, in plain C. This is the definition. */
#include <string.h>

#include "../common/fixed.h"
#include "../s/tables/activation.h"
#include "program.h"
#include "run.h"

/* ---- Maps ---- */

int64_t eu_offset(const eu_map *m, int32_t y, int32_t x) {
    int right = x >= m->width0;
    int32_t height = right ? m->height1 : m->height0, below = y >= height;
    return m->base[right + 2 * below] + (y - (below ? height : 0)) * m->stride_y +
           (x - (right ? m->width0 : 0)) * m->stride_x;
}

/* Return the address of element (y, x) of channel 0. */
static uint8_t *pixel_at(const eu_runner *r, const eu_map *m, int32_t y, int32_t x) {
    return r->memory[m->region] + eu_offset(m, y, x);
}

/* Return the number of columns from x on whose pixels follow each other without a gap. */
static int32_t run_of(const eu_map *m, int32_t x) {
    int64_t pixel = (int64_t)m->channels * m->element;
    int32_t end = x < m->width0 && m->width0 < m->columns ? m->width0 : m->columns;
    int is_dense = m->stride_x == pixel && (!m->has_bricks || m->channels == 16);
    return is_dense ? end - x : 1;
}

static void widen_values(const uint8_t *from, int64_t count, const eu_map *m, int32_t zero,
                         int32_t *to) {
    if (m->element == 1 && m->is_signed) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int8_t)from[i] - zero;
        }
    } else if (m->element == 1) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i] - zero;
        }
    } else if (m->element == 2) {
        for (int64_t i = 0; i < count; i++) {
            uint16_t value;
            memcpy(&value, from + 2 * i, 2);
            to[i] = (m->is_signed ? (int16_t)value : value) - zero;
        }
    } else { /* elements of 32 bits; of 64 bits the low half */
        for (int64_t i = 0; i < count; i++) {
            memcpy(&to[i], from + m->element * i, 4);
        }
    }
}

static void widen_to_16(const uint8_t *from, int64_t count, const eu_map *m, int16_t *to) {
    int16_t zero = (int16_t)m->zero;
    if (m->is_signed) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int16_t)((int8_t)from[i] - zero);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int16_t)(from[i] - zero);
        }
    }
}

/* Read a map less its zero point, dense: int32_t, or int16_t. */
static void load(const eu_runner *r, const eu_map *m, int32_t *to, int16_t *to_16) {
    int32_t zero = m->element >= 4 ? 0 : m->zero;
    for (int32_t y = 0; y < m->rows; y++) {
        for (int32_t x = 0, run; x < m->columns; x += run) {
            const uint8_t *pixel = pixel_at(r, m, y, x);
            int64_t at = ((int64_t)y * m->columns + x) * m->channels;
            run = run_of(m, x);
            int32_t step = m->has_bricks ? 16 : m->channels;
            for (int32_t c = 0; c < m->channels; c += step, pixel += m->stride_c) {
                int32_t left = m->channels - c < step ? m->channels - c : step;
                int64_t count = run > 1 ? (int64_t)run * m->channels : left;
                if (to_16) {
                    widen_to_16(pixel, count, m, to_16 + at + c);
                } else {
                    widen_values(pixel, count, m, zero, to + at + c);
                }
            }
        }
    }
}

static void put(uint8_t *to, int32_t element, int64_t value) {
    if (element == 1) {
        *to = (uint8_t)value;
    } else if (element == 2) {
        uint16_t half = (uint16_t)value;
        memcpy(to, &half, 2);
    } else {
        int32_t word = (int32_t)qn_clamp64(value, INT32_MIN, INT32_MAX);
        memcpy(to, &word, 4);
    }
}

static void put_all(uint8_t *to, int32_t element, const int64_t *values, int64_t count) {
    if (element == 1) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (uint8_t)values[i];
        }
    } else if (element == 2) {
        for (int64_t i = 0; i < count; i++) {
            put(to + 2 * i, 2, values[i]);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            put(to + 4 * i, 4, values[i]);
        }
    }
}

/* Write a row of the computed map: [x][c], in the order of the stored axes. */
void eu_store_row(const eu_runner *r, const eu_operation *op, int32_t y, const int64_t *values) {
    static const int8_t axes[8][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0},
                                      {0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
    const eu_map *m = &op->out;
    if (op->transpose || op->reverse) {
        for (int32_t x = 0; x < op->columns; x++) {
            for (int32_t c = 0; c < op->channels; c++) {
                const int32_t at[3] = {op->reverse == 1 ? op->rows - 1 - y : y,
                                       op->reverse == 2 ? op->columns - 1 - x : x,
                                       op->reverse == 3 ? op->channels - 1 - c : c};
                const int8_t *axis = axes[op->transpose];
                int32_t channel = at[axis[2]];
                uint8_t *to = pixel_at(r, m, at[axis[0]], at[axis[1]]);
                to += m->has_bricks
                          ? channel / 16 * m->stride_c + (int64_t)(channel % 16) * m->element
                          : (int64_t)channel * m->element;
                put(to, m->element, values[(int64_t)x * op->channels + c]);
            }
        }
        return;
    }
    for (int32_t x = 0, run; x < m->columns; x += run) {
        uint8_t *pixel = pixel_at(r, m, y, x);
        const int64_t *from = values + (int64_t)x * m->channels;
        run = run_of(m, x);
        int32_t step = m->has_bricks ? 16 : m->channels;
        for (int32_t c = 0; c < m->channels; c += step, pixel += m->stride_c) {
            int32_t left = m->channels - c < step ? m->channels - c : step;
            put_all(pixel, m->element, from + c, run > 1 ? (int64_t)run * m->channels : left);
        }
    }
}

uint8_t *eu_dense(const eu_runner *r, const eu_map *m) {
    int64_t row = (int64_t)m->channels * m->columns * m->element;
    int is_one_tile = m->columns <= m->width0 && m->rows <= m->height0;
    int is_pixel_dense =
        !m->has_bricks || m->channels <= 16 || m->stride_c == 16 * (int64_t)m->element;
    int is_row_dense = m->columns == 1 ? is_pixel_dense : run_of(m, 0) == m->columns;
    int is_dense = is_row_dense && (m->rows == 1 || m->stride_y == row);
    return is_one_tile && is_dense ? r->memory[m->region] + m->base[0] : NULL;
}

/* Copy a piece of a map; whole bricks without a call. */
static inline void copy_piece(uint8_t *to, const uint8_t *from, size_t count) {
    if (count == 16) {
        memcpy(to, from, 16);
    } else {
        memcpy(to, from, count);
    }
}

/* Copy a map of bytes from its place to dense memory, or back. */
static void copy_bytes(const eu_runner *r, const eu_map *m, uint8_t *dense, int loads) {
    for (int32_t y = 0; y < m->rows; y++) {
        for (int32_t x = 0, run; x < m->columns; x += run) {
            uint8_t *pixel = pixel_at(r, m, y, x);
            run = run_of(m, x);
            int32_t step = m->has_bricks ? 16 : m->channels;
            for (int32_t c = 0; c < m->channels; c += step, pixel += m->stride_c) {
                int32_t left = m->channels - c < step ? m->channels - c : step;
                size_t count = run > 1 ? (size_t)run * (size_t)m->channels : (size_t)left;
                uint8_t *at = dense + ((int64_t)y * m->columns + x) * m->channels + c;
                copy_piece(loads ? at : pixel, loads ? pixel : at, count);
            }
        }
    }
}

void eu_load_bytes(const eu_runner *r, const eu_map *m, uint8_t *to) { copy_bytes(r, m, to, 1); }

void eu_store_bytes(const eu_runner *r, const eu_map *m, uint8_t *from) {
    copy_bytes(r, m, from, 0);
}

/* ---- The end of an operation ---- */

/* Return 2^shift - 1. */
static inline int64_t below(int shift) { return (int64_t)(((uint64_t)1 << shift) - 1); }

/* Return what is added before a shift, from 0 to 2^63 - 1. */
static inline int64_t rounding_term(int is_negative, const eu_scale *s) {
    int64_t half = s->shift ? (int64_t)1 << (s->shift - 1) : 0;
    switch (s->rounding) {
        case EU_DOUBLE:
            return is_negative ? half - s->nudge : half + s->nudge;
        case EU_DOUBLE_UP:
            return half + s->nudge;
        case EU_SYMMETRIC:
            return half - (is_negative && s->shift);
        case EU_TRUNCATE:
            return is_negative ? below(s->shift) : 0;
        case EU_FLOOR:
            return 0;
        default:
            return half;
    }
}

static inline int64_t shift_right(int64_t product, const eu_scale *s) {
    return qn_asr64(qn_add64(product, rounding_term(product < 0, s)), s->shift);
}

/* Return value * mult / 2^shift, rounded, from a product of 96 bits; saturated to 62 bits. */
static int64_t rescale_long(int64_t value, const eu_scale *s) {
    uint64_t low = (uint64_t)(value & 0xffffffff) * (uint64_t)s->mult;
    int64_t term = rounding_term(value < 0 && s->mult, s);
    uint64_t rest = (low & 0xffffffff) + ((uint64_t)term & 0xffffffff);
    int64_t high = qn_asr64(value, 32) * s->mult + (int64_t)(low >> 32) + qn_asr64(term, 32) +
                   (int64_t)(rest >> 32);
    if (s->shift >= 32) {
        return qn_asr64(high, s->shift - 32);
    }
    int64_t most = (int64_t)1 << (30 + s->shift);
    high = qn_clamp64(high, -most, most - 1) * ((int64_t)1 << (32 - s->shift));
    return high + (int64_t)((rest & 0xffffffff) >> s->shift);
}

/* Return value * mult / 2^shift, rounded. */
static inline int64_t rescale(int64_t value, const eu_scale *s) {
    int is_short = value >= -((int64_t)1 << 29) && value < (int64_t)1 << 29;
    return is_short ? shift_right(value * s->mult, s) : rescale_long(value, s);
}

static int64_t look_up(const uint8_t *table, const eu_operation *op, int64_t v) {
    uint8_t index = (uint8_t)(op->table_signed ? v + 128 : v);
    if (op->table == EU_TABLE_8) {
        return op->out.is_signed ? (int8_t)table[index] : table[index];
    }
    if (op->table == EU_TABLE_16) {
        int16_t value;
        memcpy(&value, table + 2 * index, 2);
        return value;
    }
    if (op->table == EU_TABLE_32) {
        int32_t value;
        memcpy(&value, table + 4 * (qn_clamp64(v, INT8_MIN, INT8_MAX) + 128), 4);
        return value;
    }
    int64_t wide = qn_clamp64(v, INT16_MIN, INT16_MAX) + 32768;
    int16_t entry[2];
    memcpy(entry, table + 4 * (wide >> 7), 4);
    int64_t product = entry[1] * (wide & 127);
    return op->table == EU_TABLE_S16_S16 ? entry[0] + ((product + 64) >> 7)
                                         : entry[0] * (int64_t)128 + product;
}

/* Apply function, zero point and clamp. */
static inline int64_t before_table(const eu_operation *op, int64_t v) {
    if (op->function) {
        int32_t units = (int32_t)qn_clamp64(v, -INT32_MAX, INT32_MAX);
        v = op->function == EU_TANH ? s_tanh_s16(units) : s_sigmoid_s16(units);
    }
    v += op->add_zero ? op->zero : 0;
    return op->is_clamped ? qn_clamp64(v, op->low, op->high) : v;
}

int64_t eu_look_up(const eu_runner *r, const eu_operation *op, int64_t v) {
    return op->table ? look_up(r->memory[EU_TABLES] + op->table_at, op, v) : v;
}

/* Join accumulators of a row with those that the operation before has kept. */
static void join_row(const eu_operation *op, const int64_t *kept, int64_t *acc) {
    int64_t count = (int64_t)op->columns * op->channels;
    int pools = op->kind == EU_POOL;
    for (int64_t i = 0; i < count; i++) {
        if (pools && op->mode == EU_MAX_POOL) {
            acc[i] = kept[i] > acc[i] ? kept[i] : acc[i];
        } else if (pools && op->mode == EU_MIN_POOL) {
            acc[i] = kept[i] < acc[i] ? kept[i] : acc[i];
        } else {
            acc[i] = qn_add64(acc[i], kept[i]);
            acc[i] = op->narrow ? qn_wrap32((uint32_t)acc[i]) : acc[i];
        }
    }
}

void eu_end_row(const eu_runner *r, const eu_operation *op, int32_t y, int64_t *acc) {
    int64_t count = (int64_t)op->columns * op->channels;
    int64_t *kept = (int64_t *)(void *)r->memory[EU_KEPT_SUMS] + y * count;
    if (op->goes_on) {
        join_row(op, kept, acc);
    }
    if (op->keeps) {
        memcpy(kept, acc, (size_t)count * sizeof *kept);
        return;
    }
    if (op->per_channel) {
        const eu_channel *channels = (const eu_channel *)(const void *)(r->block + op->scales);
        int64_t at = 0;
        for (int32_t x = 0; x < op->columns; x++) {
            for (int32_t c = 0; c < op->channels; c++, at++) {
                acc[at] = rescale(qn_add64(acc[at], channels[c].bias), &channels[c].scale);
            }
        }
    } else if (op->is_scaled) {
        if (op->scale.mult != 1 || op->scale.shift) {
            for (int64_t i = 0; i < count; i++) {
                acc[i] = rescale(acc[i], &op->scale);
            }
        }
    }
    for (int64_t i = 0; i < count && (op->function || op->add_zero || op->is_clamped); i++) {
        acc[i] = before_table(op, acc[i]);
    }
    for (int64_t i = 0; i < count && op->table; i++) {
        acc[i] = eu_look_up(r, op, acc[i]);
    }
    eu_store_row(r, op, y, acc);
}

/* ---- Inputs of windows ---- */

static int64_t round_up64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t eu_cells(const eu_map *m) { return (int64_t)m->rows * m->columns * m->channels; }

int64_t eu_work_bytes(const eu_operation *op) {
    if (op->kind == EU_DMA) {
        return 0;
    }
    int64_t first =
        op->a.is_scalar && op->kind == EU_ELEMENTWISE && !op->is_swapped ? 0 : eu_cells(&op->in);
    int64_t upscaled = op->upscale ? (int64_t)op->in_rows * op->in_columns * op->in.channels : 0;
    int64_t bytes = round_up64(4 * first) + round_up64(4 * upscaled) +
                    round_up64(4 * eu_cells(&op->in2)) +
                    round_up64(8 * (int64_t)op->columns * op->channels);
    int64_t copies = round_up64(first) + round_up64(eu_cells(&op->out)); /* of a row of int8 */
    return bytes > copies ? bytes : copies;
}

/* Spread the elements of a map over twice the rows and columns. */
static void upscale(const eu_operation *op, const uint8_t *from, int64_t element, uint8_t *to) {
    int64_t pixel = op->in.channels * element;
    for (int32_t y = 0; y < op->in_rows; y++) {
        for (int32_t x = 0; x < op->in_columns; x++, to += pixel) {
            if (op->upscale == 1 || !((y | x) & 1)) {
                memcpy(to, from + ((int64_t)(y / 2) * op->in.columns + x / 2) * pixel,
                       (size_t)pixel);
            } else {
                memset(to, 0, (size_t)pixel);
            }
        }
    }
}

/* Load the input of an operation. Return the memory after it. */
static uint8_t *load_window_input(const eu_runner *r, const eu_operation *op, int narrow,
                                  const uint8_t **input) {
    uint8_t *at = r->work;
    load(r, &op->in, (int32_t *)(void *)at, narrow ? (int16_t *)(void *)at : NULL);
    *input = at;
    at += round_up64(4 * eu_cells(&op->in));
    if (op->upscale) {
        upscale(op, *input, narrow ? 2 : 4, at);
        *input = at;
        at += round_up64(4 * (int64_t)op->in_rows * op->in_columns * op->in.channels);
    }
    return at;
}

/* Taps of a window that are inside of the image: first and end. */
typedef struct taps {
    int32_t first, end;
} taps;

static taps inside(int32_t at, int32_t kernel, int32_t dilation, int32_t size) {
    taps t = {0, kernel};
    if (at < 0) {
        t.first = (-at + dilation - 1) / dilation;
    }
    int64_t last = ((int64_t)size - at + dilation - 1) / dilation;
    t.end = size <= at ? 0 : last < kernel ? (int32_t)last : kernel;
    t.first = t.first < t.end ? t.first : t.end;
    return t;
}

static taps rows_of(const eu_operation *op, int32_t y) {
    return inside(y * op->stride_h - op->pad_top, op->kernel_h, op->dilation_h, op->in_rows);
}

static taps columns_of(const eu_operation *op, int32_t x) {
    return inside(x * op->stride_w - op->pad_left, op->kernel_w, op->dilation_w, op->in_columns);
}

/* ---- Convolutions ---- */

/* Sums modulo 2^32 of products of 16 bits. */
static uint32_t dot_16(const int16_t *x, const int16_t *w, int64_t count) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (uint32_t)(x[i] * w[i]);
    }
    return sum;
}

static int64_t dot_32(const int32_t *x, const int16_t *w, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (int64_t)x[i] * w[i];
    }
    return sum;
}

/* Sum one window of one output channel. ky, kx: its taps in the image. */
static int64_t sum_window(const eu_operation *op, const uint8_t *input, const int16_t *weights,
                          int32_t y, int32_t x, taps ky, taps kx, eu_dot *dot) {
    int64_t depth = op->in.channels, sum = 0;
    int64_t run = op->dilation_w == 1 ? kx.end - kx.first : 1;
    uint32_t narrow = 0;
    for (int32_t i = ky.first; i < ky.end; i++) {
        int64_t row = (int64_t)y * op->stride_h - op->pad_top + (int64_t)i * op->dilation_h;
        for (int32_t j = kx.first; j < kx.end; j += (int32_t)run) {
            int64_t column = (int64_t)x * op->stride_w - op->pad_left + (int64_t)j * op->dilation_w;
            int64_t at = (row * op->in_columns + column) * depth;
            const int16_t *w = weights + ((int64_t)i * op->kernel_w + j) * depth;
            if (op->narrow) {
                narrow += dot((const int16_t *)(const void *)input + at, w, run * depth);
            } else {
                sum += dot_32((const int32_t *)(const void *)input + at, w, run * depth);
            }
        }
    }
    return op->narrow ? qn_wrap32(narrow) : sum;
}

static void run_conv(const eu_runner *r, const eu_operation *op) {
    const uint8_t *input;
    int64_t *acc = (int64_t *)(void *)load_window_input(r, op, op->narrow, &input);
    const int16_t *weights = (const int16_t *)(const void *)(r->block + op->weights);
    int64_t each = (int64_t)op->kernel_h * op->kernel_w * op->in.channels;
    eu_dot *dot = r->program->dot ? r->program->dot : dot_16;
    for (int32_t y = 0; y < op->rows; y++) {
        int64_t at = 0;
        for (int32_t x = 0; x < op->columns; x++) {
            taps ky = rows_of(op, y), kx = columns_of(op, x);
            for (int32_t c = 0; c < op->channels; c++, at++) {
                acc[at] = sum_window(op, input, weights + c * each, y, x, ky, kx, dot);
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

/* CONV of the U85 with the second input as weights: output channel c has its row c. */
static void run_matmul(const eu_runner *r, const eu_operation *op) {
    const uint8_t *input;
    uint8_t *next = load_window_input(r, op, 0, &input);
    const int32_t *x = (const int32_t *)(const void *)input,
                  *w = (const int32_t *)(const void *)next;
    load(r, &op->in2, (int32_t *)(void *)next, NULL);
    int64_t *acc = (int64_t *)(void *)(next + round_up64(4 * eu_cells(&op->in2)));
    int32_t depth = op->in.channels;
    for (int32_t y = 0; y < op->rows; y++) {
        int64_t at = 0;
        for (int32_t column = 0; column < op->columns; column++) {
            taps ky = rows_of(op, y), kx = columns_of(op, column);
            int64_t row = (int64_t)y * op->stride_h - op->pad_top;
            int64_t place = row * op->in_columns + (int64_t)column * op->stride_w - op->pad_left;
            int exists = ky.first < ky.end && kx.first < kx.end;
            for (int32_t c = 0; c < op->channels; c++, at++) {
                acc[at] = 0;
                for (int32_t i = 0; i < depth && exists; i++) {
                    acc[at] += (int64_t)x[place * depth + i] * w[(int64_t)c * depth + i];
                }
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

static void add_tap(const eu_operation *op, const uint8_t *input, int64_t at, const int16_t *w,
                    int64_t *acc) {
    if (op->narrow) {
        const int16_t *x = (const int16_t *)(const void *)input + at;
        for (int32_t c = 0; c < op->channels; c++) {
            acc[c] += x[c] * w[c];
        }
    } else {
        const int32_t *x = (const int32_t *)(const void *)input + at;
        for (int32_t c = 0; c < op->channels; c++) {
            acc[c] += (int64_t)x[c] * w[c];
        }
    }
}

static void run_depthwise(const eu_runner *r, const eu_operation *op) {
    const uint8_t *input;
    int64_t *acc = (int64_t *)(void *)load_window_input(r, op, op->narrow, &input);
    const int16_t *weights = (const int16_t *)(const void *)(r->block + op->weights);
    for (int32_t y = 0; y < op->rows; y++) {
        memset(acc, 0, (size_t)op->columns * (size_t)op->channels * sizeof *acc);
        taps ky = rows_of(op, y);
        for (int32_t x = 0; x < op->columns; x++) {
            taps kx = columns_of(op, x);
            int64_t *sums = acc + (int64_t)x * op->channels;
            for (int32_t i = ky.first; i < ky.end; i++) {
                int64_t row = (int64_t)y * op->stride_h - op->pad_top + (int64_t)i * op->dilation_h;
                for (int32_t j = kx.first; j < kx.end; j++) {
                    int64_t column =
                        (int64_t)x * op->stride_w - op->pad_left + (int64_t)j * op->dilation_w;
                    add_tap(op, input, (row * op->in_columns + column) * op->channels,
                            weights + ((int64_t)i * op->kernel_w + j) * op->channels, sums);
                }
            }
            for (int32_t c = 0; op->narrow && c < op->channels; c++) {
                sums[c] = qn_wrap32((uint32_t)sums[c]);
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

/* ---- Pooling ---- */

/* Return the scale of an average of n elements, as a compiler writes it. */
static eu_scale average_scale(const eu_operation *op, int64_t n, int product) {
    int k = 0;
    while (((int64_t)1 << k) < n) {
        k++;
    }
    int base = product == EU_U85 ? 30 : 31;
    eu_scale s = op->scale;
    s.shift = base + k;
    s.mult = (((int64_t)1 << (base + k)) + ((int64_t)1 << k)) / n;
    s.nudge = 0;
    if ((s.rounding == EU_DOUBLE || s.rounding == EU_DOUBLE_UP) && s.shift > 31) {
        s.nudge = (int64_t)1 << 30;
    }
    return s;
}

/* Add one element of a window to the accumulators of all channels. position: for ARGMAX. */
static void pool_pixel(int mode, const int32_t *x, int64_t position, int32_t channels,
                       int64_t *acc) {
    if (mode == EU_MAX_POOL) {
        for (int32_t c = 0; c < channels; c++) {
            acc[c] = x[c] > acc[c] ? x[c] : acc[c];
        }
    } else if (mode == EU_MIN_POOL) {
        for (int32_t c = 0; c < channels; c++) {
            acc[c] = x[c] < acc[c] ? x[c] : acc[c];
        }
    } else if (mode == EU_ARGMAX_X || mode == EU_ARGMAX_Y) {
        for (int32_t c = 0; c < channels; c++) { /* the first of equal elements remains */
            int greater = acc[c] == INT64_MIN || x[c] > (int16_t)(uint16_t)acc[c];
            acc[c] = greater ? position * 65536 + (x[c] & 0xffff) : acc[c];
        }
    } else {
        for (int32_t c = 0; c < channels; c++) {
            acc[c] += x[c];
        }
    }
}

/* Reduce one window. Return how many elements are in the image. */
static int64_t pool_window(const eu_operation *op, const int32_t *input, int32_t y, int32_t x,
                           int64_t *acc) {
    taps ky = rows_of(op, y), kx = columns_of(op, x);
    int32_t depth = op->in.channels, channels = op->mode == EU_REDUCE_SUM ? 1 : depth;
    int64_t start = op->mode == EU_MAX_POOL   ? INT32_MIN
                    : op->mode == EU_MIN_POOL ? INT32_MAX
                    : op->mode >= EU_ARGMAX_X ? INT64_MIN
                                              : 0;
    for (int32_t c = 0; c < channels; c++) {
        acc[c] = start;
    }
    for (int32_t i = ky.first; i < ky.end; i++) {
        int64_t row = (int64_t)y * op->stride_h - op->pad_top + (int64_t)i * op->dilation_h;
        for (int32_t j = kx.first; j < kx.end; j++) {
            int64_t column = (int64_t)x * op->stride_w - op->pad_left + (int64_t)j * op->dilation_w;
            const int32_t *pixel = input + (row * op->in_columns + column) * depth;
            for (int32_t c = 0; op->mode == EU_REDUCE_SUM && c < depth; c++) {
                *acc += pixel[c];
            }
            if (op->mode != EU_REDUCE_SUM) {
                pool_pixel(op->mode, pixel, op->mode == EU_ARGMAX_X ? j : i, depth, acc);
            }
        }
    }
    return (int64_t)(ky.end - ky.first) * (kx.end - kx.first);
}

static void run_pool(const eu_runner *r, const eu_operation *op) {
    const uint8_t *input;
    int64_t *acc = (int64_t *)(void *)load_window_input(r, op, 0, &input);
    const int32_t *x32 = (const int32_t *)(const void *)input;
    for (int32_t y = 0; y < op->rows; y++) {
        for (int32_t x = 0; x < op->columns; x++) {
            int64_t *own = acc + (int64_t)x * op->channels;
            if (op->mode == EU_NONE) {
                const int32_t *from = x32 + ((int64_t)y * op->columns + x) * op->channels;
                for (int32_t c = 0; c < op->channels; c++) {
                    own[c] = from[c];
                }
                continue;
            }
            int64_t count = pool_window(op, x32, y, x, own);
            if (op->counts_window) {
                eu_scale s = average_scale(op, count ? count : 1, r->program->product);
                for (int32_t c = 0; c < op->channels; c++) {
                    own[c] = rescale(own[c], &s);
                }
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

/* ---- Elementwise operations ---- */

static inline int64_t scaled(int64_t v, const eu_operand *o) {
    if (o->is_scaled) {
        return rescale(v, &o->scale);
    }
    return o->shift_left ? v * ((int64_t)1 << o->shift_left) : v;
}

/* Return a / 2^b: floor, toward zero, or halves up. */
static int64_t rounded_shift(const eu_operation *op, int64_t a, int64_t b) {
    eu_scale by = {1, (int32_t)qn_clamp64(b, 0, 62), op->scale.rounding, 0};
    if (by.rounding != EU_FLOOR && by.rounding != EU_TRUNCATE) {
        by.rounding = EU_NATURAL;
    }
    return shift_right(a, &by);
}

static int64_t divide(int64_t a, int64_t b) { return b ? a / b : 0; }

/* Compute a bitwise or shifting operation, or a comparison. */
static int64_t combine_bits(const eu_operation *op, int64_t a, int64_t b) {
    switch (op->mode) {
        case EU_CLZ:
            return qn_leading_zeros((uint32_t)a);
        case EU_SHR:
            return rounded_shift(op, a, b);
        case EU_SHL:
            return b >= 0 && b < 32 ? qn_wrap32((uint32_t)a << b) : 0;
        case EU_LSR:
            return b >= 0 && b < 32 ? (int64_t)((uint32_t)a >> b) : 0;
        case EU_CMP_EQ:
            return -(a == b);
        case EU_CMP_NE:
            return -(a != b);
        case EU_CMP_GE:
            return -(a >= b);
        case EU_CMP_GT:
            return -(a > b);
        case EU_AND:
            return a & b;
        case EU_OR:
            return a | b;
        case EU_XOR:
            return a ^ b;
        case EU_NOT:
            return ~a;
        default:
            return a & ~b;
    }
}

/* Compute one element, before the output's scale. */
static inline int64_t combine(const eu_operation *op, int product, int64_t a, int64_t b) {
    switch (op->mode) {
        case EU_MUL:
            return a * b;
        case EU_ADD:
            return qn_add64(scaled(a, &op->a), scaled(b, &op->b));
        case EU_SUB:
            return qn_add64(scaled(a, &op->a), -scaled(b, &op->b));
        case EU_DIV:
            return divide(a, b);
        case EU_LRELU:
            if (product == EU_U85) {
                return rescale(a, a < 0 ? &op->b.scale : &op->a.scale);
            }
            return a < 0 ? rescale(a, &op->scale) : a;
        default:
            break;
    }
    a = scaled(a, &op->a);
    b = scaled(b, &op->b);
    switch (op->mode) {
        case EU_MIN:
            return a < b ? a : b;
        case EU_MAX:
            return a > b ? a : b;
        case EU_ABS:
            return a < 0 ? -a : a;
        default:
            return combine_bits(op, a, b);
    }
}

int64_t eu_value_of(const eu_operation *op, int product, int64_t in) {
    int64_t v = in;
    if (op->kind == EU_ELEMENTWISE) {
        int is_second = op->a.is_scalar;
        v = combine(op, product, is_second ? op->a.scalar : in, is_second ? in : op->b.scalar);
    } else if (op->counts_window) {
        eu_scale s = average_scale(op, 1, product);
        v = rescale(v, &s);
    }
    return before_table(op, op->is_scaled ? rescale(v, &op->scale) : v);
}

/* The position of an operand's element: an axis with one element is repeated. */
static int64_t operand_row(const eu_map *m, int32_t y, int32_t x) {
    return ((int64_t)(m->rows == 1 ? 0 : y) * m->columns + (m->columns == 1 ? 0 : x)) * m->channels;
}

/* Load an operand's map. Return the memory after it. */
static uint8_t *load_operand(const eu_runner *r, const eu_map *m, int is_scalar, uint8_t *at,
                             const int32_t **values) {
    *values = NULL;
    if (is_scalar || !m->rows) {
        return at;
    }
    load(r, m, (int32_t *)(void *)at, NULL);
    *values = (const int32_t *)(const void *)at;
    return at + round_up64(4 * eu_cells(m));
}

static void run_elementwise(const eu_runner *r, const eu_operation *op) {
    const eu_map *ma = op->is_swapped ? &op->in2 : &op->in,
                 *mb = op->is_swapped ? &op->in : &op->in2;
    const int32_t *a, *b;
    uint8_t *at = load_operand(r, ma, op->a.is_scalar, r->work, &a);
    int64_t *acc = (int64_t *)(void *)load_operand(r, mb, op->b.is_scalar, at, &b);
    int product = r->program->product;
    for (int32_t y = 0; y < op->rows; y++) {
        int64_t i = 0;
        for (int32_t x = 0; x < op->columns; x++) {
            const int32_t *pa = a ? a + operand_row(ma, y, x) : NULL;
            const int32_t *pb = b ? b + operand_row(mb, y, x) : NULL;
            for (int32_t c = 0; c < op->channels; c++, i++) {
                int64_t va = pa ? pa[ma->channels == 1 ? 0 : c] : op->a.scalar;
                int64_t vb = pb ? pb[mb->channels == 1 ? 0 : c] : op->b.scalar;
                acc[i] = combine(op, product, va, vb);
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

/* ---- Resizing and copies ---- */

typedef struct position {
    int32_t index, next;
    int64_t fraction;
} position;

static position position_of(const eu_axis *axis, int32_t at, int32_t size) {
    int64_t place = at * axis->step + axis->offset, index = qn_floor_div64(place, axis->n);
    position p = {.fraction = place - index * axis->n};
    p.index = (int32_t)qn_clamp64(index, 0, size - 1);
    p.next = (int32_t)qn_clamp64(index + 1, 0, size - 1);
    return p;
}

static void run_resize(const eu_runner *r, const eu_operation *op) {
    const uint8_t *input;
    int64_t *acc = (int64_t *)(void *)load_window_input(r, op, 0, &input);
    const int32_t *v = (const int32_t *)(const void *)input;
    int64_t depth = op->channels, row = op->in.columns * depth;
    for (int32_t y = 0; y < op->rows; y++) {
        position py = position_of(&op->y, y, op->in.rows);
        int64_t at = 0;
        for (int32_t x = 0; x < op->columns; x++) {
            position px = position_of(&op->x, x, op->in.columns);
            int32_t ny = 2 * py.fraction >= op->y.n ? py.next : py.index;
            int32_t nx = 2 * px.fraction >= op->x.n ? px.next : px.index;
            int64_t fy = py.fraction, fx = px.fraction, gy = op->y.n - fy, gx = op->x.n - fx;
            for (int32_t c = 0; c < depth; c++, at++) {
                if (op->mode == EU_NEAREST) {
                    acc[at] = v[ny * row + nx * depth + c];
                } else {
                    acc[at] = gy * (gx * v[py.index * row + px.index * depth + c] +
                                    fx * v[py.index * row + px.next * depth + c]) +
                              fy * (gx * v[py.next * row + px.index * depth + c] +
                                    fx * v[py.next * row + px.next * depth + c]);
                }
            }
        }
        eu_end_row(r, op, y, acc);
    }
}

/* Copy rows of bytes. Return QN_REFUSED if an index is outside of the region. */
static int run_copy(const eu_runner *r, const eu_copy *c) {
    for (int64_t z = 0; z < c->planes; z++) {
        int64_t source = c->source + z * c->source_plane;
        int64_t target = c->destination + z * c->destination_plane;
        for (int64_t y = 0; y < c->rows; y++) {
            int64_t from = source + y * c->source_row, to = target + y * c->destination_row;
            if (c->indexed) {
                int32_t index;
                memcpy(&index, r->memory[c->indices] + c->index_at + z * c->index_plane + 4 * y, 4);
                int64_t *side = c->indexed == 1 ? &from : &to;
                int64_t row = c->indexed == 1 ? c->source_row : c->destination_row;
                int region = c->indexed == 1 ? c->from : c->to;
                if (row > INT32_MAX || row < INT32_MIN) {
                    return QN_REFUSED;
                }
                *side = (c->indexed == 1 ? source : target) + index * row;
                if (*side < 0 || *side + c->bytes > r->program->region_bytes[region]) {
                    return QN_REFUSED;
                }
            }
            memmove(r->memory[c->to] + to, r->memory[c->from] + from, (size_t)c->bytes);
        }
    }
    return QN_OK;
}

/* ---- Programs ---- */

int eu_run_operation(const eu_runner *r, const eu_operation *op) {
    switch (op->kind) {
        case EU_CONV:
            if (op->operand_weights) {
                run_matmul(r, op);
            } else {
                run_conv(r, op);
            }
            return QN_OK;
        case EU_DEPTHWISE:
            run_depthwise(r, op);
            return QN_OK;
        case EU_POOL:
            run_pool(r, op);
            return QN_OK;
        case EU_ELEMENTWISE:
            run_elementwise(r, op);
            return QN_OK;
        case EU_RESIZE:
            run_resize(r, op);
            return QN_OK;
        default:
            return run_copy(r, &op->copy);
    }
}

/* Move inputs into their places, or outputs out of these. */
static void move_places(const eu_runner *r, int first, int last, const uint8_t *in, uint8_t *out) {
    const eu_place *places = (const eu_place *)(const void *)(r->block + r->program->places_at);
    for (int i = first; i < last; i++) {
        uint8_t *place = r->memory[places[i].region] + places[i].offset;
        if (in) {
            memcpy(place, in, (size_t)places[i].bytes);
            in += places[i].bytes;
        } else {
            memcpy(out, place, (size_t)places[i].bytes);
            out += places[i].bytes;
        }
    }
}

/* Copy a map to the trace. */
static void trace(const eu_runner *r, const eu_map *m, const eu_trace *t, uint8_t *to) {
    int32_t step = m->has_bricks ? 16 : m->channels;
    for (int32_t y = 0; y < m->rows; y++) {
        for (int32_t x = 0; x < m->columns; x++) {
            const uint8_t *pixel = pixel_at(r, m, y, x);
            uint8_t *at = to + t->at + y * t->row + x * t->pixel;
            for (int32_t c = 0; c < m->channels; c += step, pixel += m->stride_c) {
                int32_t count = m->channels - c < step ? m->channels - c : step;
                memcpy(at + (int64_t)c * m->element, pixel, (size_t)count * (size_t)m->element);
            }
        }
    }
}

static int run_plain(const eu_runner *r, int32_t index) {
    const uint8_t *list = r->block + r->program->operations_at;
    return eu_run_operation(r, &((const eu_operation *)(const void *)list)[index]);
}

int eu_run(const eu_program *program, int32_t operations, const void *constants, const void *in,
           void *out, void *scratch, eu_step *step) {
    eu_runner r = {.program = program, .block = (const uint8_t *)program};
    r.memory[0] = (uint8_t *)(uintptr_t)constants;
    for (int i = 1; i < EU_ALL_REGIONS; i++) {
        r.memory[i] = (uint8_t *)scratch + program->region_at[i];
    }
    r.work = (uint8_t *)scratch + program->work_at;
    if (program->needs_zeros) {
        memset(scratch, 0, (size_t)program->work_at);
    }
    move_places(&r, 0, program->inputs, in, NULL);
    const eu_operation *list =
        (const eu_operation *)(const void *)(r.block + program->operations_at);
    uint8_t *traces = (uint8_t *)out + program->output_bytes;
    memset(traces, 0, (size_t)program->trace_bytes);
    for (int32_t i = 0; i < operations; i++) {
        int status = step ? step(&r, i) : run_plain(&r, i);
        if (status != QN_OK) {
            return status;
        }
        for (int32_t k = 0; k < list[i].traced; k++) {
            trace(&r, &list[i].out, &list[i].traces[k], traces);
        }
    }
    move_places(&r, program->inputs, program->inputs + program->outputs, NULL, out);
    return QN_OK;
}
