/* Convolutions on the engine of gemm/: the image padded once into scratch memory, the weights
 * packed once at plan time. Included by the dense_*.c files after gemm/tile.h and the types that
 * pixels_fast.h names; weights and bias are of the type `element`. */
#ifndef QN_Q_CONVOLVE_FAST_H
#define QN_Q_CONVOLVE_FAST_H

#include <string.h>

#include "convolve.h"
#include "pixels_fast.h"

/* The part of the image that windows reach, beside the image too. */
static int64_t reach_x(const qn_conv *p) {
    return (int64_t)(p->dim_im_out_x - 1) * p->stride_x + p->dim_kernel_x;
}
static int64_t reach_y(const qn_conv *p) {
    return (int64_t)(p->dim_im_out_y - 1) * p->stride_y + p->dim_kernel_y;
}

static int64_t image_bytes(const qn_conv *p) {
    return reach_y(p) * reach_x(p) * p->ch_im_in * (int64_t)sizeof(pixel) + SLACK;
}

static gemm_shape shape_of(const qn_conv *p) {
    int64_t pixel_bytes = p->ch_im_in * (int64_t)sizeof(pixel),
            row_bytes = reach_x(p) * pixel_bytes;
    gemm_shape shape = {
        .rows = p->dim_im_out_y,
        .columns = p->dim_im_out_x,
        .channels = p->ch_im_out,
        .runs = p->dim_kernel_y,
        .steps = (p->dim_kernel_x * p->ch_im_in + PER_STEP - 1) / PER_STEP,
        .row_step = p->stride_y * row_bytes,
        .column_step = p->stride_x * pixel_bytes,
        .run_step = row_bytes,
        .pitch = p->ch_im_out,
    };
    if (reach_x(p) == p->dim_im_out_x && reach_y(p) == p->dim_im_out_y) {
        shape.columns *= shape.rows; /* windows of one pixel, side by side: the rows join */
        shape.rows = 1;
        shape.column_step = pixel_bytes;
    }
    return shape;
}

/* The reach of all windows as the engine reads it; what lies beside the image counts as zero. */
static void pad_image(const qn_conv *p, const element *in, pixel *image) {
    int64_t width = reach_x(p), channels = p->ch_im_in;
    int64_t left = p->padding_x < width ? p->padding_x : width;
    int64_t inside = p->dim_im_in_x < width - left ? p->dim_im_in_x : width - left;
    int64_t right = width - left - inside;
    int64_t height = reach_y(p);
    for (int64_t y = 0; y < height; y++, image += width * channels) {
        int64_t in_y = y - p->padding_y;
        if (in_y < 0 || in_y >= p->dim_im_in_y) {
            fill(image, width * channels);
            continue;
        }
        fill(image, left * channels);
        copy(image + left * channels, in + in_y * p->dim_im_in_x * channels, inside * channels);
        fill(image + (left + inside) * channels, right * channels);
    }
    fill(image, SLACK / (int64_t)sizeof(pixel));
}

/* A convolution's filters as gemm_pack() asks for them. */
typedef struct filters {
    const qn_conv *p;
    const element *weights, *bias;
} filters;

static int32_t start_of(const void *context, int64_t o) {
    const filters *f = context;
    const qn_conv *p = f->p;
    if (o >= p->ch_im_out) {
        return 0;
    }
    int64_t length = q_convolve_row(p);
    uint32_t acc = qn_acc_start(f->bias[o], p->bias_shift, qn_round_term(p->profile, p->out_shift));
    for (int64_t i = 0; i < length; i++) {
        acc -= (uint32_t)(OFFSET * f->weights[o * length + i]);
    }
    return qn_wrap32(acc);
}

static uint32_t weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const filters *f = context;
    const qn_conv *p = f->p;
    int64_t run = (int64_t)p->dim_kernel_x * p->ch_im_in;
    weight step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < p->ch_im_out; i++) {
        int64_t at = k * PER_STEP + i;
        step[i] = at < run ? f->weights[(o * p->dim_kernel_y + r) * run + at] : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

static int64_t packed_bytes(const qn_conv *p) {
    gemm_shape shape = shape_of(p);
    return gemm_packed_bytes(&shape);
}

static void pack_convolution(const qn_conv *p, const element *weights, const element *bias,
                             int32_t *packed) {
    gemm_shape shape = shape_of(p);
    filters f = {p, weights, bias};
    gemm_filters of = {&f, start_of, weights_of};
    gemm_pack(&shape, &of, packed);
}

static int convolve(const qn_conv *p, const qn_buffers *b) {
    gemm_shape shape = shape_of(p);
    stage last = stage_of(p->out_shift, p->relu);
    pad_image(p, b->in[0], b->scratch);
    gemm_run(&shape, b->scratch, b->packed, b->out, &last);
    return QN_OK;
}

/* Scratch of a convolution that pads with zeros on every path; 5.6.0 must not wrap. */
static int64_t scratch_padded(const qn_conv *p) {
    int narrow = qn_release(p->profile) == QN_RELEASE_560 && !qn_is_dsp(p->profile);
    return narrow && q_convolve_wraps(p) ? QN_NOT_TAKEN : image_bytes(p);
}

/* The same where the DSP path does so for regular geometries only. */
static inline int64_t scratch_regular(const qn_conv *p) {
    return qn_is_dsp(p->profile) && !q_convolve_regular(p) ? QN_NOT_TAKEN : scratch_padded(p);
}

int ROW(convolve, )(const void *params, const qn_buffers *b) { return convolve(params, b); }

int64_t ROW(convolve, _packed)(const void *params) { return packed_bytes(params); }

void ROW(convolve, _pack)(const void *params, const void *weights, const void *bias, void *packed) {
    pack_convolution(params, weights, bias, packed);
}

#endif
