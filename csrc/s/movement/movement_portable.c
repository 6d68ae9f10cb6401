/* Data movement, a run at a time: axes of a walk that go on where the one inside of them
 * ends are one. */
#include "walk.h"

/* The axes of a walk that are left, outermost first. */
typedef struct short_walk {
    int32_t count;
    int64_t sides[S_AXES], steps[S_AXES];
} short_walk;

static short_walk merged(const s_walk *w) {
    short_walk s = {.count = 0};
    for (int i = 0; i < S_AXES; i++) {
        const int32_t last = s.count - 1;
        if (w->sides[i] == 1) {
            continue;
        }
        if (last >= 0 && s.steps[last] == w->sides[i] * w->steps[i]) {
            s.sides[last] *= w->sides[i];
            s.steps[last] = w->steps[i];
        } else {
            s.sides[s.count] = w->sides[i];
            s.steps[s.count++] = w->steps[i];
        }
    }
    return s;
}

static inline char *copy_elements(const char *from, int64_t side, int64_t step, int element,
                                  char *to) {
    for (int64_t i = 0; i < side; i++, from += step * element, to += element) {
        memcpy(to, from, (size_t)element);
    }
    return to;
}

/* A row of the innermost axis. */
static char *copy_row(const char *from, int64_t side, int64_t step, int element, char *to) {
    if (step == 1) {
        memcpy(to, from, (size_t)(side * element));
        return to + side * element;
    }
    switch (element) {
        case 1:
            return copy_elements(from, side, step, 1, to);
        case 2:
            return copy_elements(from, side, step, 2, to);
        case 4:
            return copy_elements(from, side, step, 4, to);
        default:
            return copy_elements(from, side, step, 8, to);
    }
}

/* The first of `count` equal parts, of `bytes`, is there already. */
static char *repeat(char *to, int64_t bytes, int64_t count) {
    const int64_t all = bytes * count;
    for (int64_t done = bytes; done < all; done *= 2) {
        memcpy(to + done, to, (size_t)(done < all - done ? done : all - done));
    }
    return to + all;
}

/* Axes from `axis` on. */
static char *copy_axes(const short_walk *w, int32_t axis, const char *from, int element, char *to) {
    if (axis == w->count) {
        memcpy(to, from, (size_t)element);
        return to + element;
    }
    if (w->steps[axis] == 0) {
        return repeat(to, copy_axes(w, axis + 1, from, element, to) - to, w->sides[axis]);
    }
    if (axis == w->count - 1) {
        return copy_row(from, w->sides[axis], w->steps[axis], element, to);
    }
    for (int64_t i = 0; i < w->sides[axis]; i++) {
        to = copy_axes(w, axis + 1, from + i * w->steps[axis] * element, element, to);
    }
    return to;
}

static int walked(s_walk whole, const qn_buffers *b, int element) {
    const short_walk w = merged(&whole);
    (void)copy_axes(&w, 0, (const char *)b->in[0] + whole.start * element, element, b->out);
    return QN_OK;
}

int s_transpose_s8_portable(const void *params, const qn_buffers *b) {
    return walked(s_walk_of_transpose(params), b, 1);
}

int s_permute_portable(const void *params, const qn_buffers *b) {
    const qn_s_permute *p = params;
    return walked(s_walk_of_permute(p), b, p->element);
}

int s_slice_portable(const void *params, const qn_buffers *b) {
    const qn_s_slice *p = params;
    return walked(s_walk_of_slice(p), b, p->element);
}

int s_broadcast_portable(const void *params, const qn_buffers *b) {
    const qn_s_broadcast *p = params;
    return walked(s_walk_of_broadcast(p), b, p->element);
}

/* Rows of the image, or pixels where channels are padded, and before each of them what is filled.
 * */
int s_pad_portable(const void *params, const qn_buffers *b) {
    const qn_s_pad *p = params;
    const int64_t element = p->element;
    const int64_t channels = (int64_t)p->pre_c + p->input_c + p->post_c;
    const int64_t width = ((int64_t)p->pre_w + p->input_w + p->post_w) * channels;
    const int64_t sample = ((int64_t)p->pre_h + p->input_h + p->post_h) * width;
    const int whole = channels == p->input_c;
    const int64_t runs = whole ? 1 : p->input_w;
    const int64_t run = whole ? p->input_w * channels : p->input_c;
    const char *in = b->in[0];
    char *out = b->out;
    int64_t done = 0;
    for (int64_t y = 0; y < (int64_t)p->input_n * p->input_h; y++) {
        const int64_t n = p->pre_n + y / p->input_h, row = p->pre_h + y % p->input_h;
        int64_t at = n * sample + row * width + p->pre_w * channels + p->pre_c;
        for (int64_t i = 0; i < runs; i++, in += run * element, at += channels) {
            s_fill(out + done * element, at - done, p->element, p->pad_value);
            memcpy(out + at * element, in, (size_t)(run * element));
            done = at + run;
        }
    }
    const int64_t all = ((int64_t)p->pre_n + p->input_n + p->post_n) * sample;
    s_fill(out + done * element, all - done, p->element, p->pad_value);
    return QN_OK;
}

/* Scratch: the column of the input for each of the output. */
int64_t s_resize_nearest_portable_columns(const void *params) {
    return ((const qn_s_resize *)params)->output_w * (int64_t)sizeof(int32_t);
}

/* Most runs are short: a call of memcpy() takes longer than their work. */
static inline void copy_run(const char *from, int64_t bytes, char *to) {
    int64_t i = 0;
    if (bytes > 32) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    for (; i + 16 <= bytes; i += 16) {
        memcpy(to + i, from + i, 16);
    }
    if (i < bytes && bytes >= 16) {
        i = bytes - 16; /* once more in part */
        memcpy(to + i, from + i, 16);
        return;
    }
    for (; i < bytes; i++) {
        to[i] = from[i];
    }
}

int s_join_portable(const void *params, const qn_buffers *b) {
    const qn_s_join *p = params;
    const int64_t bytes1 = (int64_t)p->inner1 * p->element,
                  bytes2 = (int64_t)p->inner2 * p->element;
    const char *in1 = b->in[0], *in2 = b->in[1];
    char *out = b->out;
    for (int32_t i = 0; i < p->outer; i++) {
        copy_run(in1, bytes1, out);
        copy_run(in2, bytes2, out + bytes1);
        in1 += bytes1;
        in2 += bytes2;
        out += bytes1 + bytes2;
    }
    return QN_OK;
}

static inline void resize_row(const qn_s_resize *p, const char *row, int64_t pixel,
                              const int32_t *columns, char *to) {
    for (int32_t x = 0; x < p->output_w; x++, to += pixel) {
        copy_run(row + columns[x] * pixel, pixel, to);
    }
}

int s_resize_nearest_portable(const void *params, const qn_buffers *b) {
    const qn_s_resize *p = params;
    const int64_t pixel = (int64_t)p->channels * p->element, row = p->output_w * pixel;
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
