/* Transposed convolutions of the s8 API on the engine: outputs whose row and column leave the same
 * rests by the strides, a phase, are a convolution by every stride-th tap, turned round. The image is
 * padded once for all phases; a row of one phase is a call of the engine. Included by
 * weighted_s8_<isa>.c after weighted_fast.h.
 *
 * With Y + pad = q * stride + phase, tap phase + (taps - 1 - a) * stride meets row q - (taps - 1) + a,
 * a = 0..taps - 1. Packed are 64 bytes with the kind of the stage, its rows, then each phase. */
#ifndef QN_S_TRANSPOSE_CONV_FAST_H
#define QN_S_TRANSPOSE_CONV_FAST_H

#include "transpose_conv.h"

/* How many of an axis' taps are of a phase; of phase 0, which has the most. */
static inline int32_t phase_taps(int32_t filter, int32_t stride, int32_t phase) {
    return phase < filter ? (filter - phase + stride - 1) / stride : 0;
}

/* The whole as a layer for the stage, and the geometry of the padded image. */
static s_layer layer_of_transpose(const qn_s_transpose_conv *p, const void *weights,
                                  const void *bias) {
    const int64_t taps = (int64_t)p->filter_h * p->filter_w * p->input_c;
    const int32_t high = phase_taps(p->filter_h, p->stride_h, 0);
    const int32_t wide = phase_taps(p->filter_w, p->stride_w, 0);
    return (s_layer){
        .image = {p->input_h, p->input_w, 1, p->input_c,
                  (int32_t)(((int64_t)p->output_h - 1 + p->pad_h) / p->stride_h + 1),
                  (int32_t)(((int64_t)p->output_w - 1 + p->pad_w) / p->stride_w + 1), p->output_c,
                  high, wide, 1, 1, high - 1, wide - 1, 1, 1, -p->input_offset},
        .repeat = 1,
        .batches = p->batches,
        .weights = weights,
        .channel_step = taps,
        .tap_step = 1,
        .pair_step = 1,
        .q = rows_of_channels(bias, p->output_c),
        .last = {p->profile, p->output_offset, p->act_min, p->act_max},
    };
}

/* One row of outputs of a phase. */
static gemm_shape shape_of_phase(const qn_s_transpose_conv *p, const s_layer *l, int32_t y,
                                 int32_t x, int32_t columns) {
    const int64_t pixel_bytes = p->input_c * (int64_t)sizeof(pixel);
    const int64_t run = (int64_t)phase_taps(p->filter_w, p->stride_w, x) * p->input_c;
    return (gemm_shape){
        .rows = 1,
        .columns = columns,
        .channels = p->output_c,
        .runs = run == 0 ? 0 : phase_taps(p->filter_h, p->stride_h, y),
        .steps = (int32_t)((run + PER_STEP - 1) / PER_STEP),
        .column_step = pixel_bytes,
        .run_step = width_of(&l->image) * pixel_bytes,
        .pitch = (int64_t)p->stride_w * p->output_c,
    };
}

static int64_t phase_dwords(const qn_s_transpose_conv *p, const s_layer *l, int32_t y, int32_t x) {
    const gemm_shape shape = shape_of_phase(p, l, y, x, 1);
    return gemm_packed_bytes(&shape) / (int64_t)sizeof(int32_t);
}

static int64_t transpose_packed(const qn_s_transpose_conv *p) {
    const s_layer l = layer_of_transpose(p, NULL, NULL);
    int64_t dwords = HEAD + stage_dwords(p->output_c);
    for (int32_t y = 0; y < p->stride_h; y++) {
        for (int32_t x = 0; x < p->stride_w; x++) {
            dwords += phase_dwords(p, &l, y, x);
        }
    }
    return dwords * 4;
}

/* Phases beyond these would only cost memory. */
static int64_t transpose_scratch(const qn_s_transpose_conv *p) {
    enum { MOST_STRIDE = 16 };
    const s_layer l = layer_of_transpose(p, NULL, NULL);
    int few = p->stride_h <= MOST_STRIDE && p->stride_w <= MOST_STRIDE;
    return few ? image_bytes(&l.image) : QN_NOT_TAKEN;
}

/* The filters of one phase as gemm_pack() asks for them. */
typedef struct phase_filters {
    const qn_s_transpose_conv *p;
    const s_layer *layer;
    int32_t y, x;
    gemm_shape shape;
} phase_filters;

/* Weight i of run r. */
static int32_t phase_weight(const phase_filters *f, int64_t o, int64_t r, int64_t i) {
    const qn_s_transpose_conv *p = f->p;
    const int64_t b = i / p->input_c, c = i % p->input_c;
    const int64_t ky = f->y + (f->shape.runs - 1 - r) * p->stride_h;
    const int64_t kx = f->x + (phase_taps(p->filter_w, p->stride_w, f->x) - 1 - b) * p->stride_w;
    return layer_weight(f->layer, o, (ky * p->filter_w + kx) * p->input_c + c);
}

static int64_t phase_run(const phase_filters *f) {
    return (int64_t)phase_taps(f->p->filter_w, f->p->stride_w, f->x) * f->p->input_c;
}

static int32_t phase_start_of(const void *context, int64_t o) {
    const phase_filters *f = context;
    uint32_t sum = 0;
    if (o >= f->shape.channels) {
        return 0;
    }
    for (int64_t r = 0; r < f->shape.runs; r++) {
        for (int64_t i = 0; i < phase_run(f); i++) {
            sum += (uint32_t)phase_weight(f, o, r, i);
        }
    }
    const uint32_t offset = (uint32_t)(-f->layer->image.edge - OFFSET);
    return qn_wrap32((uint32_t)f->layer->q.bias[o] + offset * sum);
}

static uint32_t phase_weights_of(const void *context, int64_t o, int64_t r, int64_t k) {
    const phase_filters *f = context;
    weight step[PER_STEP] = {0};
    for (int64_t i = 0; i < PER_STEP && o < f->shape.channels; i++) {
        const int64_t at = k * PER_STEP + i;
        step[i] = at < phase_run(f) ? (weight)phase_weight(f, o, r, at) : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

/* All taps of a channel, whatever the phase, bound its sums. */
static stage_kind pack_transpose_stage(const qn_s_transpose_conv *p, s_layer l, int32_t *rows) {
    l.image.kernel_h = p->filter_h;
    l.image.kernel_w = p->filter_w;
    stage_packer k = {.layer = &l, .kind = STAGE_FLOAT};
    while (!pack_stage(&k, p->output_c, rows)) {
        k.kind = k.kind == STAGE_FLOAT ? STAGE_QUICK : STAGE_EXACT;
    }
    return k.kind;
}

static void transpose_pack(const qn_s_transpose_conv *p, const s_layer *l, int32_t *packed) {
    memset(packed, 0, HEAD * sizeof(int32_t));
    packed[0] = (int32_t)pack_transpose_stage(p, *l, packed + HEAD);
    packed += HEAD + stage_dwords(p->output_c);
    for (int32_t y = 0; y < p->stride_h; y++) {
        for (int32_t x = 0; x < p->stride_w; x++) {
            const phase_filters f = {p, l, y, x, shape_of_phase(p, l, y, x, 1)};
            const gemm_filters of = {&f, phase_start_of, phase_weights_of};
            gemm_pack(&f.shape, &of, packed);
            packed += phase_dwords(p, l, y, x);
        }
    }
}

/* The first output at or behind 0 of a phase; q: the pixel of the padded image where its window ends. */
static inline int32_t first_of(int32_t phase, int32_t pad, int32_t stride, int64_t *q) {
    const int32_t at = (phase - pad % stride + stride) % stride;
    *q = ((int64_t)at + pad - phase) / stride;
    return at;
}

/* Row Y of outputs, from the packed phases of its row on. */
static void transpose_row(const qn_s_transpose_conv *p, const s_layer *l, const stage *last,
                          const uint8_t *image, int32_t y, const int32_t *packed, int8_t *out) {
    const int64_t pixel_bytes = p->input_c * (int64_t)sizeof(pixel);
    for (int32_t x = 0; x < p->stride_w; x++) {
        int64_t q;
        const int32_t at = first_of(x, p->pad_w, p->stride_w, &q);
        const int32_t columns = at < p->output_w ? (p->output_w - 1 - at) / p->stride_w + 1 : 0;
        const gemm_shape shape = shape_of_phase(p, l, y, x, columns);
        const int64_t skipped = l->image.pad_w + 1 - phase_taps(p->filter_w, p->stride_w, x);
        if (columns > 0) {
            gemm_run(&shape, image + (q + skipped) * pixel_bytes, packed,
                     out + (int64_t)at * p->output_c, last);
        }
        packed += phase_dwords(p, l, y, x);
    }
}

static int transpose_run(const qn_s_transpose_conv *p, const s_layer *l, const qn_buffers *b) {
    const int32_t *packed = (const int32_t *)b->packed + HEAD;
    const stage last = stage_of(&l->last, (stage_kind)packed[-HEAD], packed);
    const int64_t row_bytes = width_of(&l->image) * p->input_c * (int64_t)sizeof(pixel);
    const input *in = b->in[0];
    int8_t *out = b->out;
    packed += stage_dwords(p->output_c);
    for (int32_t n = 0; n < p->batches; n++) {
        pad_image(&l->image, in, b->scratch);
        const int32_t *here = packed;
        for (int32_t phase = 0; phase < p->stride_h; phase++) {
            int64_t q;
            const int64_t skipped =
                l->image.pad_n + 1 - phase_taps(p->filter_h, p->stride_h, phase);
            for (int32_t y = first_of(phase, p->pad_h, p->stride_h, &q); y < p->output_h;
                 y += p->stride_h, q++) {
                const uint8_t *image = (const uint8_t *)b->scratch + (q + skipped) * row_bytes;
                transpose_row(p, l, &last, image, phase, here,
                              out + (int64_t)y * p->output_w * p->output_c);
            }
            for (int32_t x = 0; x < p->stride_w; x++) {
                here += phase_dwords(p, l, phase, x);
            }
        }
        in += (int64_t)p->input_h * p->input_w * p->input_c;
        out += (int64_t)p->output_h * p->output_w * p->output_c;
    }
    return QN_OK;
}

int ROW(transpose_conv_s8, )(const void *params, const qn_buffers *b) {
    const s_layer layer = layer_of_transpose(params, b->weights, b->bias);
    int plain = s_lanes_differ(layer.last.profile, &layer.q, layer.image.out_c);
    return plain ? s_transpose_conv_s8_ref(params, b) : transpose_run(params, &layer, b);
}

int64_t ROW(transpose_conv_s8, _scratch)(const void *params) { return transpose_scratch(params); }

int64_t ROW(transpose_conv_s8, _packed)(const void *params) { return transpose_packed(params); }

void ROW(transpose_conv_s8, _pack)(const void *params, const void *weights, const void *bias,
                                   void *packed) {
    const s_layer layer = layer_of_transpose(params, weights, bias);
    transpose_pack(params, &layer, packed);
}

#endif
