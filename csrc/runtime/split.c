/* Parts of a call: fewer rows, pixels or elements of the output, as the same call on less.
 *
 * Rows a..b-1 of a convolution or a pooling read the image rows a*stride - pad .. (b-1)*stride - pad
 * + (kernel-1)*dilation. The part has those of them that lie in the image, and as much padding above
 * as is left of it: whatever lies outside the image lies outside the part. Fast rows are functions of
 * this geometry alone, and so are their packed weights, but for one pixel by itself
 * (gemm_shape.is_gemv), which no part is; for tiles of AMX where blocks are laid out, whose layout
 * depends on the number of pixels; and where Helium, built for single rounding, has the sums of some
 * pixels in lanes (s/convolve/convolve_helium.h). Convolutions of 16 bits have their pixels in pairs, and
 * other sums for the last of an odd number (s/convolve/convolve.h): parts but the last have an even
 * number. */
#include <string.h>

#include "../common/fixed.h"
#include "executor.h"

/* Numbers of the int32 fields of a struct of parameters; 0, the profile, stands for none. */
typedef struct axis {
    uint8_t in, out, kernel, stride, pad, dilation;
} axis;

/* op: the only one that is split, NULL: all. one: a field that must be 1. */
typedef struct windows {
    const char *params, *op;
    size_t bytes;
    axis y, x;
    uint8_t one;
} windows;

/* Of element-wise ops: their length. */
typedef struct elements {
    const char *params;
    size_t bytes;
    uint8_t length;
} elements;

#define FIELD(type, field) (uint8_t)(offsetof(type, field) / sizeof(int32_t))

#define Q_AXIS(type, a)                                                                    \
    {FIELD(type, dim_im_in_##a), FIELD(type, dim_im_out_##a), FIELD(type, dim_kernel_##a), \
     FIELD(type, stride_##a),    FIELD(type, padding_##a),    0}
#define N_AXIS(type, a, pad)                                                 \
    {FIELD(type, in_##a),     FIELD(type, out_##a), FIELD(type, kernel_##a), \
     FIELD(type, stride_##a), FIELD(type, pad),     FIELD(type, dilation_##a)}
#define S_AXIS(type, a, dilation)                                               \
    {FIELD(type, input_##a),  FIELD(type, output_##a), FIELD(type, filter_##a), \
     FIELD(type, stride_##a), FIELD(type, pad_##a),    dilation}

/* Averages of the NPU are not here: their divisor depends on where the hardware finds a window. */
static const windows all_windows[] = {
    {"qn_conv", NULL, sizeof(qn_conv), Q_AXIS(qn_conv, y), Q_AXIS(qn_conv, x), 0},
    {"qn_pool", NULL, sizeof(qn_pool), Q_AXIS(qn_pool, y), Q_AXIS(qn_pool, x), 0},
    {"qn_npu_conv", NULL, sizeof(qn_npu_conv), N_AXIS(qn_npu_conv, h, pad_n),
     N_AXIS(qn_npu_conv, w, pad_w), 0},
    {"qn_npu_pool", "npu_max_pool", sizeof(qn_npu_pool), N_AXIS(qn_npu_pool, h, pad_n),
     N_AXIS(qn_npu_pool, w, pad_w), 0},
    {"qn_s_conv", NULL, sizeof(qn_s_conv), S_AXIS(qn_s_conv, h, FIELD(qn_s_conv, dilation_h)),
     S_AXIS(qn_s_conv, w, FIELD(qn_s_conv, dilation_w)), FIELD(qn_s_conv, batches)},
    {"qn_s_depthwise", NULL, sizeof(qn_s_depthwise),
     S_AXIS(qn_s_depthwise, h, FIELD(qn_s_depthwise, dilation_h)),
     S_AXIS(qn_s_depthwise, w, FIELD(qn_s_depthwise, dilation_w)), FIELD(qn_s_depthwise, batches)},
    {"qn_s_pool", NULL, sizeof(qn_s_pool), S_AXIS(qn_s_pool, h, 0), S_AXIS(qn_s_pool, w, 0),
     FIELD(qn_s_pool, batches)},
};

static const elements all_elements[] = {
    {"qn_vector", sizeof(qn_vector), FIELD(qn_vector, length)},
    {"qn_mult", sizeof(qn_mult), FIELD(qn_mult, length)},
    {"qn_offset", sizeof(qn_offset), FIELD(qn_offset, length)},
    {"qn_activation", sizeof(qn_activation), FIELD(qn_activation, length)},
    {"qn_s_add", sizeof(qn_s_add), FIELD(qn_s_add, block_size)},
    {"qn_npu_each", sizeof(qn_npu_each), FIELD(qn_npu_each, length)},
    {"qn_npu_add", sizeof(qn_npu_add), FIELD(qn_npu_add, length)},
};

/* GRAIN: of elements. Loops of Arm's that treat the last few elements otherwise go by four, and 64
 * bytes are a cache line. LEAST: rows or pixels of a part. PAIR: so many rows or pixels are an even
 * number of pixels. */
enum { GRAIN = 64, PIXELS_GRAIN = 12, LEAST = 2, PAIR = 2 };

static const windows *windows_of(const qn_op *op) {
    for (size_t i = 0; i < sizeof all_windows / sizeof all_windows[0]; i++) {
        const windows *w = &all_windows[i];
        if (strcmp(w->params, op->params) == 0 && (!w->op || strcmp(w->op, op->op) == 0)) {
            return w;
        }
    }
    return NULL;
}

static const elements *elements_of(const qn_op *op) {
    for (size_t i = 0; i < sizeof all_elements / sizeof all_elements[0]; i++) {
        if (strcmp(all_elements[i].params, op->params) == 0) {
            return &all_elements[i];
        }
    }
    return NULL;
}

size_t qn_split_bytes(const qn_op *op) {
    const windows *w = windows_of(op);
    const elements *e = elements_of(op);
    return w ? w->bytes : e ? e->bytes : 0;
}

/* Is each output a function of the one input at the same index? */
static int is_single(const int32_t *p, const axis *a) {
    return p[a->in] == p[a->out] && p[a->kernel] == 1 && p[a->stride] == 1 && p[a->pad] == 0;
}

/* Units first..last-1, and where they begin in the image. */
typedef struct span {
    int32_t first, last;
    int64_t from;
} span;

static void split_pixels(const windows *w, int32_t *p, span *s) {
    p[w->y.in] = p[w->y.out] = 1;
    p[w->x.in] = p[w->x.out] = s->last - s->first;
    s->from = s->first;
}

static int split_rows(const windows *w, int32_t *p, span *s) {
    const axis *a = &w->y;
    const int64_t in = p[a->in], dilation = a->dilation ? p[a->dilation] : 1;
    const int64_t start = (int64_t)s->first * p[a->stride] - p[a->pad];
    const int64_t stop =
        (int64_t)(s->last - 1) * p[a->stride] - p[a->pad] + (p[a->kernel] - 1) * dilation + 1;
    if (start >= in) {
        return QN_REFUSED; /* below the image: no padding says that */
    }
    s->from = start > 0 ? start : 0;
    const int64_t end = stop < in ? stop : in;
    p[a->pad] = start < 0 ? (int32_t)-start : 0;
    p[a->in] = end > s->from ? (int32_t)(end - s->from) : 1;
    p[a->out] = s->last - s->first;
    return QN_OK;
}

/* What the bounds of parts are multiples of, so that their bits are those of the whole. */
static int32_t step_of(const qn_op *op) {
    const int pairs = strcmp(op->params, "qn_s_conv") == 0 && strcmp(op->type, "s16") == 0;
    return elements_of(op) ? GRAIN : pairs ? PAIR : 1;
}

/* Single pixels lie in one row; a row that does not take that goes by rows. */
static int goes_by_pixels(const qn_kernel *kernel, const windows *w, const int32_t *params) {
    int32_t part[QN_MOST_FIELDS];
    span two = {0, LEAST, 0};
    if (!is_single(params, &w->y) || !is_single(params, &w->x)) {
        return 0;
    }
    memcpy(part, params, w->bytes);
    split_pixels(w, part, &two);
    return kernel->functions->scratch(part) != QN_NOT_TAKEN;
}

static int64_t pixels_of(const windows *w, const int32_t *p) {
    return (int64_t)p[w->y.out] * p[w->x.out];
}

/* Is a window's output the same wherever it lies? */
static int is_even(const qn_kernel *kernel, const int32_t *params) {
    const int32_t profile = params[0];
    const int lanes = qn_path(profile) == QN_PATH_MVE && qn_rounding(profile) == QN_SINGLE;
    return !lanes && (!(kernel->cpu & QN_CPU_AMX) || kernel->functions->traits(params) & QN_PARTS);
}

int32_t qn_units(const qn_kernel *kernel, const void *params, int32_t *grain) {
    const windows *w = windows_of(kernel->op);
    const elements *e = elements_of(kernel->op);
    const int32_t *p = params;
    if (strcmp(kernel->kind, "fast") != 0) {
        return 0;
    }
    if (e) {
        *grain = GRAIN;
        return p[e->length];
    }
    if (!w || (w->one && p[w->one] != 1) || !is_even(kernel, p)) {
        return 0;
    }
    const int pixels = goes_by_pixels(kernel, w, p) && pixels_of(w, p) <= INT32_MAX;
    *grain = pixels ? PIXELS_GRAIN : step_of(kernel->op);
    return pixels ? (int32_t)pixels_of(w, p) : p[w->y.out];
}

/* Inputs and output moved on: `from` of `of` units of an input of so many bytes. */
static int move(qn_step *part, const qn_sizes *sizes, int64_t from, int64_t of, int64_t to,
                int64_t units) {
    if (sizes->out % units) {
        return QN_REFUSED; /* not an element for each of the input's */
    }
    for (int i = 0; i < QN_INPUTS; i++) {
        if (sizes->in[i] % of) {
            return QN_REFUSED;
        }
        part->in[i] += sizes->in[i] / of * from;
    }
    part->out += sizes->out / units * to;
    return QN_OK;
}

/* Rows of a call take no more scratch than all of it. The contract may have other bits for a part as
 * a call of its own, so that the row would leave that to another one: its geometry is the same. */
static int64_t scratch_of(const qn_kernel *kernel, const void *whole, const void *part) {
    const int64_t own = kernel->functions->scratch(part);
    return own == QN_NOT_TAKEN ? kernel->functions->scratch(whole) : own;
}

int qn_split(const qn_step *step, int32_t first, int32_t last, void *params, qn_step *part,
             int64_t *scratch) {
    const qn_op *op = step->kernel->op;
    const windows *w = windows_of(op);
    const elements *e = elements_of(op);
    const int32_t *whole = step->params;
    int32_t grain = 0, *p = params;
    const int32_t units = qn_units(step->kernel, whole, &grain), bounds = step_of(op);
    qn_sizes sizes = {0};
    char why[QN_WHY];
    span s = {first, last, first};
    if (first < 0 || last > units || first >= last || first % bounds ||
        (last % bounds && last != units) || op->check(whole, &sizes, why) != QN_OK) {
        return QN_REFUSED;
    }
    int64_t of = units;
    int status = QN_OK;
    memcpy(params, whole, w ? w->bytes : e->bytes);
    if (e) {
        p[e->length] = last - first;
    } else if (last - first < LEAST) {
        status = QN_REFUSED;
    } else if (grain != PIXELS_GRAIN) {
        of = whole[w->y.in];
        status = split_rows(w, p, &s);
    } else {
        split_pixels(w, p, &s);
    }
    *part = *step;
    part->params = params;
    *scratch = scratch_of(step->kernel, whole, params);
    if (status == QN_OK &&
        (step->kernel->functions->packed(params) != step->kernel->functions->packed(whole) ||
         (w && !is_even(step->kernel, params)))) {
        return QN_REFUSED; /* few pixels, or one row of very many, may be computed in another way */
    }
    return status == QN_OK ? move(part, &sizes, s.from, of, first, units) : status;
}
