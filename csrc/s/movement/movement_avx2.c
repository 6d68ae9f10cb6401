/* What moves and picks elements, on AVX2: an output is loops over axes, each with its own step in the
 * input; axes that go on where the one inside of them ends are one. */
#include "slicing.h"

#if QN_HAS_X86

#include "../../gemm/target_avx2.inc"

enum { AXES = 5 };

/* Outermost first: elements of the output along each axis, and elements of the input from one to the
 * next. */
typedef struct walk {
    int32_t count;
    int64_t sides[AXES], steps[AXES];
} walk;

static void add_axis(walk *w, int64_t side, int64_t step) {
    const int32_t last = w->count - 1;
    if (side == 1) {
        return;
    }
    if (last >= 0 && w->steps[last] == side * step) {
        w->sides[last] *= side;
        w->steps[last] = step;
        return;
    }
    w->sides[w->count] = side;
    w->steps[w->count++] = step;
}

/* A row of the innermost axis; element: 1 or 2 bytes. */
static inline char *copy_row(const char *from, int64_t side, int64_t step, int element, char *to) {
    if (step == 1) {
        memcpy(to, from, (size_t)(side * element));
    } else if (element == 1) {
        for (int64_t i = 0; i < side; i++) {
            to[i] = from[i * step];
        }
    } else {
        for (int64_t i = 0; i < side; i++) {
            memcpy(to + 2 * i, from + 2 * i * step, 2);
        }
    }
    return to + side * element;
}

/* Axes from `axis` on. */
static char *copy_axes(const walk *w, int32_t axis, const char *from, int element, char *to) {
    const int64_t step = w->steps[axis] * element;
    if (axis == w->count - 1) {
        return element == 1 ? copy_row(from, w->sides[axis], w->steps[axis], 1, to)
                            : copy_row(from, w->sides[axis], w->steps[axis], 2, to);
    }
    for (int64_t i = 0; i < w->sides[axis]; i++, from += step) {
        to = copy_axes(w, axis + 1, from, element, to);
    }
    return to;
}

static int copied(const walk *w, const char *from, int element, char *to) {
    if (w->count == 0) {
        memcpy(to, from, (size_t)element);
    } else {
        (void)copy_axes(w, 0, from, element, to);
    }
    return QN_OK;
}

static int transpose(const qn_s_transpose *p, const qn_buffers *b, int element) {
    const int64_t steps[] = {(int64_t)p->input_h * p->input_w * p->input_c,
                             (int64_t)p->input_w * p->input_c, p->input_c, 1};
    const int32_t sides[] = {p->output_n, p->output_h, p->output_w, p->output_c};
    const int32_t axes[] = {p->perm_0, p->perm_1, p->perm_2, p->perm_3};
    walk w = {.count = 0};
    for (int i = 0; i < 4; i++) {
        add_axis(&w, sides[i], steps[i < p->num_dims ? axes[i] : i]);
    }
    return copied(&w, b->in[0], element, b->out);
}

int s_transpose_s8_avx2(const void *params, const qn_buffers *b) { return transpose(params, b, 1); }

int s_transpose_s16_avx2(const void *params, const qn_buffers *b) {
    return transpose(params, b, 2);
}

static int slice(const qn_s_slice *p, const qn_buffers *b, int element) {
    const int32_t inputs[] = {p->input_0, p->input_1, p->input_2, p->input_3, p->input_4};
    const int32_t begins[] = {p->begin_0, p->begin_1, p->begin_2, p->begin_3, p->begin_4};
    const int32_t strides[] = {p->stride_0, p->stride_1, p->stride_2, p->stride_3, p->stride_4};
    const int32_t outputs[] = {p->output_0, p->output_1, p->output_2, p->output_3, p->output_4};
    int64_t pitch = 1, start = 0, steps[AXES];
    for (int i = AXES - 1; i >= 0; i--) {
        start += begins[i] * pitch;
        steps[i] = strides[i] * pitch;
        pitch *= inputs[i];
    }
    walk w = {.count = 0};
    for (int i = 0; i < AXES; i++) {
        add_axis(&w, outputs[i], steps[i]);
    }
    return copied(&w, (const char *)b->in[0] + start * element, element, b->out);
}

int s_slice_s8_avx2(const void *params, const qn_buffers *b) { return slice(params, b, 1); }

int s_slice_s16_avx2(const void *params, const qn_buffers *b) { return slice(params, b, 2); }

static void fill(char *to, int64_t count, int element, int32_t value) {
    int16_t *halfwords = (int16_t *)(void *)to;
    if (element == 1) {
        memset(to, value, (size_t)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        halfwords[i] = (int16_t)value;
    }
}

/* One sample: rows of the image, or pixels where channels are padded, among what is filled. */
static const char *place(const qn_s_pad *p, const char *in, int element, char *out) {
    const int64_t channels = (int64_t)p->pre_c + p->input_c + p->post_c;
    const int64_t width = ((int64_t)p->pre_w + p->input_w + p->post_w) * channels;
    const int whole = channels == p->input_c;
    const int64_t runs = whole ? 1 : p->input_w;
    const size_t run = (size_t)(whole ? p->input_w * channels : p->input_c) * (size_t)element;
    for (int32_t y = 0; y < p->input_h; y++) {
        char *to = out + ((p->pre_h + y) * width + p->pre_w * channels + p->pre_c) * element;
        for (int64_t i = 0; i < runs; i++, in += run, to += channels * element) {
            memcpy(to, in, run);
        }
    }
    return in;
}

static int pad(const qn_s_pad *p, const qn_buffers *b, int element) {
    const int64_t channels = (int64_t)p->pre_c + p->input_c + p->post_c;
    const int64_t sample = ((int64_t)p->pre_h + p->input_h + p->post_h) *
                           ((int64_t)p->pre_w + p->input_w + p->post_w) * channels;
    const char *in = b->in[0];
    char *out = b->out;
    fill(out, ((int64_t)p->pre_n + p->input_n + p->post_n) * sample, element, p->pad_value);
    out += p->pre_n * sample * element;
    for (int32_t n = 0; n < p->input_n; n++, out += sample * element) {
        in = place(p, in, element, out);
    }
    return QN_OK;
}

int s_pad_s8_avx2(const void *params, const qn_buffers *b) { return pad(params, b, 1); }

int s_pad_s16_avx2(const void *params, const qn_buffers *b) { return pad(params, b, 2); }

/* Scratch: the column of the input for each of the output. */
int64_t s_resize_nearest_avx2_columns(const void *params) {
    return ((const qn_s_resize *)params)->output_w * (int64_t)sizeof(int32_t);
}

/* Short runs, for which a call of memcpy() takes longer than its work. */
static inline void copy_run(const char *from, int64_t bytes, char *to) {
    int64_t i = 0;
    for (; i + 16 <= bytes; i += 16) {
        _mm_storeu_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    }
    if (i < bytes && bytes >= 16) {
        i = bytes - 16; /* once more in part */
        _mm_storeu_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
        return;
    }
    for (; i < bytes; i++) {
        to[i] = from[i];
    }
}

int s_join_s8_avx2(const void *params, const qn_buffers *b) {
    const qn_s_join *p = params;
    const char *in1 = b->in[0], *in2 = b->in[1];
    char *out = b->out;
    for (int32_t i = 0; i < p->outer; i++) {
        copy_run(in1, p->inner1, out);
        copy_run(in2, p->inner2, out + p->inner1);
        in1 += p->inner1;
        in2 += p->inner2;
        out += (int64_t)p->inner1 + p->inner2;
    }
    return QN_OK;
}

static inline void resize_row(const qn_s_resize *p, const char *row, int64_t pixel,
                              const int32_t *columns, char *to) {
    for (int32_t x = 0; x < p->output_w; x++, to += pixel) {
        copy_run(row + columns[x] * pixel, pixel, to);
    }
}

static int resize(const qn_s_resize *p, const qn_buffers *b, int64_t element) {
    const int64_t pixel = p->channels * element, row = p->output_w * pixel;
    const char *in = b->in[0];
    int32_t *columns = b->scratch;
    char *out = b->out;
    for (int32_t x = 0; x < p->output_w; x++) {
        columns[x] = qn_nearest_neighbor(x, p->input_w, p->output_w, p->align_corners,
                                         p->half_pixel_centers);
    }
    for (int32_t n = 0; n < p->batches; n++, in += p->input_h * p->input_w * pixel) {
        int32_t before = -1;
        for (int32_t y = 0; y < p->output_h; y++, out += row) {
            const int32_t in_y = qn_nearest_neighbor(y, p->input_h, p->output_h, p->align_corners,
                                                     p->half_pixel_centers);
            if (in_y == before) {
                memcpy(out, out - row, (size_t)row);
            } else {
                resize_row(p, in + in_y * (p->input_w * pixel), pixel, columns, out);
            }
            before = in_y;
        }
    }
    return QN_OK;
}

int s_resize_nearest_s8_avx2(const void *params, const qn_buffers *b) {
    return resize(params, b, 1);
}

int s_resize_nearest_s16_avx2(const void *params, const qn_buffers *b) {
    return resize(params, b, 2);
}

#include "../../gemm/target_end.inc"

#endif
