/* Layers of ESP-DL of 8 bits by the fast rows of the s8 API.
 *
 * Single rounding with a multiplier of 2^30 and a shift of 1 - right_shift is R of portable C and
 * of an ESP32-S3. QN_PROFILE_HALF_EVEN is that of an ESP32-P4. An engine has sums modulo 2^32, in
 * any order:
 *
 * - An ESP32-S3 saturates sums of 20 bits after each product. No sum does where |bias| + the sum of
 *   |x| * |weight| is below 2^19. Weights and biases prove it at plan time for |x| = 128, for most
 *   depthwise layers. Otherwise a second run has magnitudes of inputs and weights: outputs whose
 *   sum of magnitudes may reach 2^19 are computed again by the plain row.
 * - Where sums that are rounded could leave 32 bits, the plain row computes the calls of both. */
#include <string.h>

#include "../convolve/kernels.h"
#include "../dense/kernels.h"
#include "weighted.h"

/* Results of a run on magnitudes, which are clamped to 127 and shifted by 12 bits: up to 125 no sum
 * of magnitudes reaches (125.5 * 2^12) * (128 / 127)^2 = 522175 < 2^19. */
enum { MAGNITUDE_SHIFT = 12, MAGNITUDE_MOST = 125 };

/* Runs of the engine: one; two of which the second has magnitudes; none. */
enum { ONE = 0, MAGNITUDES = 1, PLAIN = 2 };

/* A call as the engine has it. channel_step, tap_step: of weight i of channel o. */
typedef struct layer {
    const qn_functions *row;
    int32_t chip, right_shift, rectified, per_channel, channels;
    int is_depthwise;
    int64_t taps, channel_step, tap_step, inputs, outputs;
    union {
        qn_s_conv conv;
        qn_s_depthwise depthwise;
        qn_s_fc dense;
    } as;
} layer;

static int32_t engine_profile(int32_t chip) {
    return chip == QN_DL_P4 ? QN_PROFILE_HALF_EVEN
                            : 8 * QN_RELEASE_MAIN_2026_07 + 2 * QN_PATH_SCALAR + QN_SINGLE;
}

static layer of_convolve(const qn_dl_conv *p, const qn_functions *row) {
    const int64_t taps = s_dl_taps(p);
    return (layer){
        .row = row,
        .chip = p->chip,
        .right_shift = p->right_shift,
        .rectified = p->rectified,
        .per_channel = p->per_channel,
        .channels = p->output_c,
        .taps = taps,
        .channel_step = taps,
        .tap_step = 1,
        .inputs = (int64_t)p->batches * p->input_h * p->input_w * p->input_c,
        .outputs = (int64_t)p->batches * p->output_h * p->output_w * p->output_c,
        .as.conv = {engine_profile(p->chip),
                    p->batches,
                    p->input_h,
                    p->input_w,
                    p->input_c,
                    p->filter_h,
                    p->filter_w,
                    p->input_c,
                    p->output_h,
                    p->output_w,
                    p->output_c,
                    p->stride_h,
                    p->stride_w,
                    p->pad_h,
                    p->pad_w,
                    p->dilation_h,
                    p->dilation_w,
                    0,
                    0,
                    p->rectified ? 0 : INT8_MIN,
                    INT8_MAX,
                    1,
                    QN_S_WRAPPER},
    };
}

static layer of_depthwise(const qn_dl_conv *p, const qn_functions *row) {
    return (layer){
        .row = row,
        .chip = p->chip,
        .right_shift = p->right_shift,
        .rectified = p->rectified,
        .per_channel = p->per_channel,
        .channels = p->input_c,
        .is_depthwise = 1,
        .taps = (int64_t)p->filter_h * p->filter_w,
        .channel_step = 1,
        .tap_step = p->input_c,
        .inputs = (int64_t)p->batches * p->input_h * p->input_w * p->input_c,
        .outputs = (int64_t)p->batches * p->output_h * p->output_w * p->input_c,
        .as.depthwise = {engine_profile(p->chip),
                         p->batches,
                         p->input_h,
                         p->input_w,
                         p->input_c,
                         p->filter_h,
                         p->filter_w,
                         1,
                         p->output_h,
                         p->output_w,
                         p->stride_h,
                         p->stride_w,
                         p->pad_h,
                         p->pad_w,
                         p->dilation_h,
                         p->dilation_w,
                         0,
                         0,
                         p->rectified ? 0 : INT8_MIN,
                         INT8_MAX,
                         QN_S_WRAPPER},
    };
}

static layer of_dense(const qn_dl_dense *p, const qn_functions *row) {
    const qn_dl_conv pixels = s_dl_as_pixels(p);
    layer l = of_convolve(&pixels, row);
    l.as.dense =
        (qn_s_fc){engine_profile(p->chip),     p->batches, p->input_c, p->output_c, 0, 0, 0,
                  p->rectified ? 0 : INT8_MIN, INT8_MAX,   0,          0,           1};
    return l;
}

/* ---- memory of the packed weights: the mode, rows of parameters, two packs, magnitudes ---- */

static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t row_bytes(const layer *l) {
    return whole_lines((int64_t)sizeof(int32_t) * 3 * l->channels);
}

static int64_t pack_bytes(const layer *l) { return whole_lines(l->row->packed(&l->as)); }

static int64_t packed_bytes(const layer *l) {
    const int64_t magnitudes =
        l->chip == QN_DL_S3 ? pack_bytes(l) + whole_lines(l->taps * l->channels) : 0;
    return 64 + row_bytes(l) + pack_bytes(l) + magnitudes;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* The sum of the magnitudes of channel o's weights. */
static int64_t weight_of(const layer *l, const int8_t *weights, int64_t o) {
    int64_t sum = 0;
    for (int64_t i = 0; i < l->taps; i++) {
        sum += magnitude(weights[o * l->channel_step + i * l->tap_step]);
    }
    return sum;
}

static int32_t bias_of(const int32_t *bias, int32_t o) { return bias ? bias[o] : 0; }

static int32_t shift_of(const layer *l, const int32_t *bias, int32_t o) {
    const qn_dl_conv p = {.right_shift = l->right_shift, .per_channel = l->per_channel};
    return s_dl_right_shift(&p, bias, o, l->channels, 0);
}

static int32_t mode_of(const layer *l, const int8_t *weights, const int32_t *bias) {
    int32_t mode = ONE;
    for (int32_t o = 0; l->chip != QN_DL_C && o < l->channels; o++) {
        const int64_t most = magnitude(bias_of(bias, o)) + 128 * weight_of(l, weights, o);
        const int32_t shift = shift_of(l, bias, o);
        const int in_lanes = l->is_depthwise || s_dl_in_lanes(o, l->channels);
        if (most + (INT64_C(1) << shift) > INT32_MAX) {
            return PLAIN;
        }
        if (l->chip == QN_DL_S3 && in_lanes && most >= 1 << (S_DL_S3_BITS - 1)) {
            mode = MAGNITUDES;
        }
    }
    return mode;
}

/* Fills in the rows of multipliers and shifts. */
static void put_scales(const layer *l, const int32_t *bias, int32_t *rows) {
    for (int32_t o = 0; o < l->channels; o++) {
        rows[l->channels + o] = 1 << 30;
        rows[2 * l->channels + o] = 1 - shift_of(l, bias, o);
    }
}

static void pack(const layer *l, const int8_t *weights, const int32_t *bias, void *packed) {
    int32_t *mode = packed, *rows = (int32_t *)packed + 16;
    char *first = (char *)packed + 64 + row_bytes(l), *second = first + pack_bytes(l);
    memset(packed, 0, (size_t)packed_bytes(l));
    *mode = mode_of(l, weights, bias);
    for (int32_t o = 0; o < l->channels; o++) {
        rows[o] = bias_of(bias, o);
    }
    put_scales(l, bias, rows);
    l->row->pack(&l->as, weights, rows, first);
    if (*mode == MAGNITUDES) {
        int8_t *sizes = (int8_t *)second + pack_bytes(l);
        for (int64_t i = 0; i < l->taps * l->channels; i++) {
            sizes[i] = qn_sat8((int32_t)magnitude(weights[i]));
        }
        for (int32_t o = 0; o < l->channels; o++) {
            rows[o] = (int32_t)magnitude(rows[o]);
            rows[2 * l->channels + o] = 1 - MAGNITUDE_SHIFT;
        }
        l->row->pack(&l->as, sizes, rows, second);
    }
}

/* ---- runs: scratch memory of the engine, then magnitudes of outputs and of inputs ---- */

static int64_t scratch_bytes(const layer *l) {
    const int64_t own = l->right_shift < 0 ? QN_NOT_TAKEN : l->row->scratch(&l->as);
    if (own == QN_NOT_TAKEN) {
        return QN_NOT_TAKEN;
    }
    const int64_t magnitudes =
        l->chip == QN_DL_S3 ? whole_lines(l->outputs) + whole_lines(l->inputs) : 0;
    return whole_lines(own) + magnitudes;
}

static int run_engine(const layer *l, void *in, const void *packed, void *scratch, void *out) {
    const qn_buffers call = {.in = {in}, .packed = packed, .scratch = scratch, .out = out};
    return l->row->run(&l->as, &call);
}

/* ---- eight results at a time, as bytes of a word ---- */

enum { LANES = 8 };
#define EACH UINT64_C(0x0101010101010101)

static uint64_t word_at(const int8_t *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Magnitudes of at most 127. A negative x is ~x + 1, but for -128, whose ~x is 127. */
static void take_magnitudes(int8_t *to, const int8_t *in, int64_t count) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const uint64_t x = word_at(in + i), negative = x >> 7 & EACH;
        const uint64_t sum = (x ^ negative * 0xff) + negative, word = sum - (sum >> 7 & EACH);
        memcpy(to + i, &word, sizeof word);
    }
    for (; i < count; i++) {
        to[i] = qn_sat8((int32_t)magnitude(in[i]));
    }
}

/* The first result from i on that is above MAGNITUDE_MOST, from 0 to 127 as they are; `count`
 * without one. */
static int64_t next_large(const int8_t *sizes, int64_t i, int64_t count) {
    while (i < count && sizes[i] <= MAGNITUDE_MOST) {
        while (i + LANES <= count &&
               !((word_at(sizes + i) + (127 - MAGNITUDE_MOST) * EACH) & 0x80 * EACH)) {
            i += LANES;
        }
        i += i < count && sizes[i] <= MAGNITUDE_MOST;
    }
    return i;
}

/* Computes outputs again whose sums may have saturated. p: the call as a convolution. */
static void mend(const layer *l, const qn_dl_conv *p, const qn_buffers *b, const int8_t *sizes) {
    int8_t *out = b->out;
    const int64_t row = (int64_t)p->output_w * l->channels;
    for (int64_t i = next_large(sizes, 0, l->outputs); i < l->outputs;
         i = next_large(sizes, i + 1, l->outputs)) {
        const int64_t line = i / row;
        const int32_t place[] = {(int32_t)(line / p->output_h), (int32_t)(line % p->output_h),
                                 (int32_t)(i % row / l->channels), (int32_t)(i % l->channels)};
        out[i] = s_dl_sat8(s_dl_convolve_at(p, b, place, l->is_depthwise, 0));
    }
}

static int run(const layer *l, const qn_dl_conv *p, const qn_buffers *b) {
    const int32_t mode = *(const int32_t *)b->packed;
    const char *first = (const char *)b->packed + 64 + row_bytes(l);
    const char *second = first + pack_bytes(l);
    if (mode == PLAIN) {
        return l->is_depthwise ? s_dl_depthwise_conv_s8_ref(p, b) : s_dl_convolve_s8_ref(p, b);
    }
    int status = run_engine(l, b->in[0], first, b->scratch, b->out);
    if (mode == ONE || status != QN_OK) {
        return status;
    }
    int8_t *other = (int8_t *)b->scratch + whole_lines(l->row->scratch(&l->as));
    int8_t *sizes = other + whole_lines(l->outputs);
    take_magnitudes(sizes, b->in[0], l->inputs);
    status = run_engine(l, sizes, second, b->scratch, other);
    mend(l, p, b, other);
    return status;
}

/* ---- a row for each instruction set: the functions with the row that they call ---- */
#define FUNCTIONS(op, isa, params_of, layer_of, engine)                                    \
    static int op##_run_##isa(const void *params, const qn_buffers *b) {                   \
        const qn_dl_conv p = params_of(params);                                            \
        const layer l = layer_of(params, &engine);                                         \
        return run(&l, &p, b);                                                             \
    }                                                                                      \
    static int64_t op##_scratch_##isa(const void *params) {                                \
        const layer l = layer_of(params, &engine);                                         \
        return scratch_bytes(&l);                                                          \
    }                                                                                      \
    static int64_t op##_packed_##isa(const void *params) {                                 \
        const layer l = layer_of(params, &engine);                                         \
        return packed_bytes(&l);                                                           \
    }                                                                                      \
    static void op##_pack_##isa(const void *params, const void *weights, const void *bias, \
                                void *packed) {                                            \
        const layer l = layer_of(params, &engine);                                         \
        pack(&l, weights, bias, packed);                                                   \
    }

static qn_dl_conv windows_of(const void *params) { return *(const qn_dl_conv *)params; }

static qn_dl_conv pixels_of(const void *params) { return s_dl_as_pixels(params); }

#if QN_HAS_X86
FUNCTIONS(convolve, avx512, windows_of, of_convolve, s_convolve_s8_avx512)

const qn_functions s_dl_convolve_s8_avx512 = {convolve_run_avx512, convolve_scratch_avx512,
                                              convolve_packed_avx512, convolve_pack_avx512,
                                              qn_always_pays};

FUNCTIONS(depthwise_conv, avx512, windows_of, of_depthwise, s_depthwise_s8_avx512)

const qn_functions s_dl_depthwise_conv_s8_avx512 = {
    depthwise_conv_run_avx512, depthwise_conv_scratch_avx512, depthwise_conv_packed_avx512,
    depthwise_conv_pack_avx512, qn_always_pays};

FUNCTIONS(dense, avx512, pixels_of, of_dense, s_fc_per_channel_s8_avx512)

const qn_functions s_dl_dense_s8_avx512 = {dense_run_avx512, dense_scratch_avx512,
                                           dense_packed_avx512, dense_pack_avx512, qn_always_pays};

FUNCTIONS(convolve, avxvnni, windows_of, of_convolve, s_convolve_s8_avxvnni)

const qn_functions s_dl_convolve_s8_avxvnni = {convolve_run_avxvnni, convolve_scratch_avxvnni,
                                               convolve_packed_avxvnni, convolve_pack_avxvnni,
                                               qn_always_pays};

FUNCTIONS(depthwise_conv, avxvnni, windows_of, of_depthwise, s_depthwise_s8_avxvnni)

const qn_functions s_dl_depthwise_conv_s8_avxvnni = {
    depthwise_conv_run_avxvnni, depthwise_conv_scratch_avxvnni, depthwise_conv_packed_avxvnni,
    depthwise_conv_pack_avxvnni, qn_always_pays};

FUNCTIONS(dense, avxvnni, pixels_of, of_dense, s_fc_per_channel_s8_avxvnni)

const qn_functions s_dl_dense_s8_avxvnni = {dense_run_avxvnni, dense_scratch_avxvnni,
                                            dense_packed_avxvnni, dense_pack_avxvnni,
                                            qn_always_pays};

FUNCTIONS(convolve, avx2, windows_of, of_convolve, s_convolve_s8_avx2)

const qn_functions s_dl_convolve_s8_avx2 = {convolve_run_avx2, convolve_scratch_avx2,
                                            convolve_packed_avx2, convolve_pack_avx2,
                                            qn_always_pays};

FUNCTIONS(depthwise_conv, avx2, windows_of, of_depthwise, s_depthwise_s8_avx2)

const qn_functions s_dl_depthwise_conv_s8_avx2 = {
    depthwise_conv_run_avx2, depthwise_conv_scratch_avx2, depthwise_conv_packed_avx2,
    depthwise_conv_pack_avx2, qn_always_pays};

FUNCTIONS(dense, avx2, pixels_of, of_dense, s_fc_per_channel_s8_avx2)

const qn_functions s_dl_dense_s8_avx2 = {dense_run_avx2, dense_scratch_avx2, dense_packed_avx2,
                                         dense_pack_avx2, qn_always_pays};

#endif

#if QN_HAS_ARM64
FUNCTIONS(convolve, neon, windows_of, of_convolve, s_convolve_s8_neon)

const qn_functions s_dl_convolve_s8_neon = {convolve_run_neon, convolve_scratch_neon,
                                            convolve_packed_neon, convolve_pack_neon,
                                            qn_always_pays};

FUNCTIONS(depthwise_conv, neon, windows_of, of_depthwise, s_depthwise_s8_neon)

const qn_functions s_dl_depthwise_conv_s8_neon = {
    depthwise_conv_run_neon, depthwise_conv_scratch_neon, depthwise_conv_packed_neon,
    depthwise_conv_pack_neon, qn_always_pays};

FUNCTIONS(dense, neon, pixels_of, of_dense, s_fc_per_channel_s8_neon)

const qn_functions s_dl_dense_s8_neon = {dense_run_neon, dense_scratch_neon, dense_packed_neon,
                                         dense_pack_neon, qn_always_pays};

#endif

FUNCTIONS(convolve, portable, windows_of, of_convolve, s_convolve_s8_portable)

const qn_functions s_dl_convolve_s8_portable = {convolve_run_portable, convolve_scratch_portable,
                                                convolve_packed_portable, convolve_pack_portable,
                                                qn_always_pays};

FUNCTIONS(depthwise_conv, portable, windows_of, of_depthwise, s_depthwise_s8_portable)

const qn_functions s_dl_depthwise_conv_s8_portable = {
    depthwise_conv_run_portable, depthwise_conv_scratch_portable, depthwise_conv_packed_portable,
    depthwise_conv_pack_portable, qn_always_pays};

FUNCTIONS(dense, portable, pixels_of, of_dense, s_fc_per_channel_s8_portable)

const qn_functions s_dl_dense_s8_portable = {dense_run_portable, dense_scratch_portable,
                                             dense_packed_portable, dense_pack_portable,
                                             qn_always_pays};
