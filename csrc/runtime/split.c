/* Parts of a call: the same call for fewer rows, pixels or elements of the output.
 *
 * Rows a..b-1 of a convolution or a pooling read the image rows from a*stride - pad to
 * (b-1)*stride - pad + (kernel-1)*dilation. A part reads the rows of this range that are in the
 * image. Its padding above is the number of rows above the image. So a cell outside the image is
 * outside the part's image as well.
 *
 * Fast rows and their packed weights depend on this geometry alone, with three exceptions. A single
 * pixel (GEMV) is never a part. AMX tiles with blocks have a layout that depends on the number of
 * pixels. Helium with single rounding sums some pixels in lanes (s/convolve/convolve_helium.h). */
#include <string.h>

#include "../common/fixed.h"
#include "executor.h"

/* GRAIN: of elements. Arm's loops that treat the last few elements differently process four at a
 * time, and 64 bytes are a cache line. LEAST: rows or pixels of a part. */
enum { GRAIN = 64, PIXELS_GRAIN = 12, LEAST = 2 };

/* A call with parameters that can be changed. */
typedef struct call {
    int32_t params[QN_MOST_FIELDS];
    qn_extent extent;
} call;

/* Copy parameters and find their extent. */
static int copy_call(const qn_op *op, const void *params, call *to) {
    if (op->params_bytes > (int64_t)sizeof to->params) {
        return QN_REFUSED;
    }
    memcpy(to->params, params, (size_t)op->params_bytes);
    return op->split(to->params, &to->extent);
}

/* True if each output is a function of the one input at the same index. */
static int is_pointwise(const qn_axis *a) {
    return *a->in == *a->out && a->kernel == 1 && a->stride == 1 && *a->pad == 0;
}

/* Units first..last-1, and their start in the image. */
typedef struct span {
    int32_t first, last;
    int64_t from;
} span;

static void split_pixels(const qn_extent *e, span *s) {
    *e->y.in = *e->y.out = 1;
    *e->x.in = *e->x.out = s->last - s->first;
    s->from = s->first;
}

static int split_rows(const qn_axis *a, span *s) {
    const int64_t in = *a->in, pad = *a->pad;
    const int64_t start = (int64_t)s->first * a->stride - pad;
    const int64_t stop =
        (int64_t)(s->last - 1) * a->stride - pad + (a->kernel - 1) * (int64_t)a->dilation + 1;
    if (start >= in) {
        return QN_REFUSED; /* below the image: no padding expresses this */
    }
    s->from = start > 0 ? start : 0;
    const int64_t end = stop < in ? stop : in;
    *a->pad = start < 0 ? (int32_t)-start : 0;
    *a->in = end > s->from ? (int32_t)(end - s->from) : 1;
    *a->out = s->last - s->first;
    return QN_OK;
}

static int64_t pixels_of(const qn_extent *e) { return (int64_t)*e->y.out * *e->x.out; }

/* True if windows are single pixels, and the row supports a part of one image row. Changes the
 * call. */
static int takes_pixels(const qn_kernel *kernel, call *c) {
    span two = {0, LEAST, 0};
    if (!is_pointwise(&c->extent.y) || !is_pointwise(&c->extent.x) ||
        pixels_of(&c->extent) > INT32_MAX) {
        return 0;
    }
    split_pixels(&c->extent, &two);
    return kernel->functions->scratch(c->params) != QN_NOT_TAKEN;
}

/* True if the result does not depend on the window's position. */
static int is_translation_invariant(const qn_kernel *kernel, const int32_t *params) {
    const int32_t profile = params[0];
    const int lanes = qn_path(profile) == QN_PATH_MVE && qn_rounding(profile) == QN_SINGLE;
    return !lanes && (!(kernel->cpu & QN_CPU_AMX) || kernel->functions->traits(params) & QN_PARTS);
}

int32_t qn_units(const qn_kernel *kernel, const void *params, int32_t *grain) {
    call c;
    if (strcmp(kernel->kind, "fast") != 0 || copy_call(kernel->op, params, &c) != QN_OK) {
        return 0;
    }
    if (c.extent.length) {
        *grain = GRAIN;
        return *c.extent.length;
    }
    if (!is_translation_invariant(kernel, params)) {
        return 0;
    }
    const int32_t rows = *c.extent.y.out;
    const int64_t pixels = pixels_of(&c.extent);
    const int by_pixels = takes_pixels(kernel, &c);
    *grain = by_pixels ? PIXELS_GRAIN : c.extent.step;
    return by_pixels ? (int32_t)pixels : rows;
}

/* Move the addresses of inputs by `from` of their `of` units, and of the output by `to` of its
 * units. */
static int move(qn_step *part, const qn_sizes *sizes, int64_t from, int64_t of, int64_t to,
                int64_t units) {
    if (sizes->out % units) {
        return QN_REFUSED; /* output and input have different numbers of units */
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

/* Return the scratch bytes of a part: at most those of the whole call. As a call of its own, a part
 * may have different bits by contract, and the row would not take it. If so, use the scratch of the
 * whole. */
static int64_t scratch_of(const qn_kernel *kernel, const void *whole, const void *part) {
    const int64_t own = kernel->functions->scratch(part);
    return own == QN_NOT_TAKEN ? kernel->functions->scratch(whole) : own;
}

/* Change a call to its part. of: the units of the whole call's inputs. */
static int split_call(qn_extent *e, int32_t grain, span *s, int64_t *of) {
    if (e->length) {
        *e->length = s->last - s->first;
        return QN_OK;
    }
    if (s->last - s->first < LEAST) {
        return QN_REFUSED;
    }
    if (grain == PIXELS_GRAIN) {
        split_pixels(e, s);
        return QN_OK;
    }
    *of = *e->y.in;
    return split_rows(&e->y, s);
}

int qn_split(const qn_step *step, int32_t first, int32_t last, void *params, qn_step *part,
             int64_t *scratch) {
    const qn_kernel *kernel = step->kernel;
    const qn_op *op = kernel->op;
    int32_t grain = 0;
    const int32_t units = qn_units(kernel, step->params, &grain);
    qn_sizes sizes = {0};
    char why[QN_WHY];
    span s = {first, last, first};
    int64_t of = units;
    qn_extent e;
    if (first < 0 || last > units || first >= last ||
        op->check(step->params, &sizes, why) != QN_OK) {
        return QN_REFUSED;
    }
    memcpy(params, step->params, (size_t)op->params_bytes);
    (void)op->split(params, &e);
    const int32_t bounds = e.length ? GRAIN : e.step;
    if (first % bounds || (last % bounds && last != units) ||
        split_call(&e, grain, &s, &of) != QN_OK) {
        return QN_REFUSED;
    }
    *part = *step;
    part->params = params;
    *scratch = scratch_of(kernel, step->params, params);
    if (kernel->functions->packed(params) != kernel->functions->packed(step->params) ||
        (!e.length && !is_translation_invariant(kernel, params))) {
        return QN_REFUSED; /* very small or very wide parts may select another kernel */
    }
    return move(part, &sizes, s.from, of, first, units);
}
