/* Convolutions of ESP-NN on an ESP32-S3 by the fast rows of other ops.
 *
 * A convolution copies its windows one after the other: each is a row of a fully connected layer.
 * A depthwise convolution in strips copies the image with its rows of zeros: it needs no padding
 * above and below then. */
#include "../convolve/depthwise.h"
#include "../dense/kernels.h"
#include "windows.h"

/* Bytes up to a multiple of 64, where the scratch memory of fast rows begins. */
static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- convolution ---- */

static qn_s_fc as_dense(const qn_s_conv *p) {
    return (qn_s_fc){
        .profile = p->profile,
        .batches = p->output_h * p->output_w,
        .input_c = p->filter_h * p->filter_w * p->input_c,
        .output_c = p->output_c,
        .input_offset = p->input_offset,
        .output_offset = p->output_offset,
        .act_min = p->act_min,
        .act_max = p->act_max,
        .is_per_channel = 1,
    };
}

/* Bytes of the windows of an image. */
static int64_t window_bytes(const qn_s_conv *p) {
    const qn_s_fc dense = as_dense(p);
    return (int64_t)dense.batches * dense.input_c;
}

static int64_t convolve_scratch(const qn_s_conv *p, const qn_functions *row) {
    const qn_s_fc dense = as_dense(p);
    int64_t own = row->scratch(&dense);
    if (own == QN_NOT_TAKEN || (int64_t)p->output_h * p->output_w > UINT16_MAX) {
        return QN_NOT_TAKEN;
    }
    return whole_lines(own) + whole_lines(window_bytes(p)) + s_esp_memory(p);
}

static int64_t convolve_packed(const qn_s_conv *p, const qn_functions *row) {
    const qn_s_fc dense = as_dense(p);
    return row->packed(&dense);
}

static void convolve_pack(const qn_s_conv *p, const void *weights, const void *bias, void *packed,
                          const qn_functions *row) {
    const qn_s_fc dense = as_dense(p);
    row->pack(&dense, weights, bias, packed);
}

static void copy_windows(const qn_s_conv *p, const int8_t *memory, int8_t *to) {
    const int64_t width = (int64_t)p->filter_w * p->input_c;
    for (int32_t y = 0; y < p->output_h; y++) {
        for (int32_t x = 0; x < p->output_w; x++) {
            const int8_t *from = s_esp_window(p, memory, y, x);
            for (int32_t ky = 0; ky < p->filter_h; ky++, to += width, from += s_esp_pitch(p)) {
                memcpy(to, from, (size_t)width);
            }
        }
    }
}

static int convolve_run(const qn_s_conv *p, const qn_buffers *b, const qn_functions *row) {
    const qn_s_fc dense = as_dense(p);
    const int64_t outputs = (int64_t)dense.batches * p->output_c;
    int8_t *own = b->scratch, *windows = own + whole_lines(row->scratch(&dense));
    int8_t *memory = windows + whole_lines(window_bytes(p));
    int status = QN_OK;
    for (int32_t n = 0; n < p->batches && status == QN_OK; n++) {
        qn_buffers call = *b;
        s_esp_fill(p, b, n, memory);
        copy_windows(p, memory, windows);
        call.in[0] = windows;
        call.out = (int8_t *)b->out + n * outputs;
        status = row->run(&dense, &call);
    }
    return status;
}

/* ---- depthwise convolution ---- */

/* One image with its rows of padding. */
static qn_s_depthwise with_rows(const qn_s_depthwise *p) {
    int64_t reach = (p->output_h - 1) * (int64_t)p->stride_h;
    reach += (p->filter_h - 1) * (int64_t)p->dilation_h + 1;
    qn_s_depthwise tall = *p;
    int64_t rows = p->pad_h + (int64_t)p->input_h;
    tall.input_h = (int32_t)(rows > reach ? rows : reach);
    tall.pad_h = 0;
    tall.batches = 1;
    return tall;
}

static int64_t image_bytes(const qn_s_depthwise *p) {
    return (int64_t)p->input_h * p->input_w * p->input_c;
}

static int64_t depthwise_scratch(const qn_s_depthwise *p, const qn_functions *row) {
    const qn_s_depthwise tall = with_rows(p);
    int64_t own = row->scratch(&tall);
    return own == QN_NOT_TAKEN ? own : whole_lines(own) + image_bytes(&tall);
}

static int64_t depthwise_packed(const qn_s_depthwise *p, const qn_functions *row) {
    const qn_s_depthwise tall = with_rows(p);
    return row->packed(&tall);
}

static void depthwise_pack(const qn_s_depthwise *p, const void *weights, const void *bias,
                           void *packed, const qn_functions *row) {
    const qn_s_depthwise tall = with_rows(p);
    row->pack(&tall, weights, bias, packed);
}

static int depthwise_run(const qn_s_depthwise *p, const qn_buffers *b, const qn_functions *row) {
    const qn_s_depthwise tall = with_rows(p);
    const int64_t outputs = (int64_t)p->output_h * p->output_w * s_depthwise_channels(p);
    const int64_t above = (int64_t)p->pad_h * p->input_w * p->input_c;
    int8_t *image = (int8_t *)b->scratch + whole_lines(row->scratch(&tall));
    int status = QN_OK;
    memset(image, 0, (size_t)image_bytes(&tall));
    for (int32_t n = 0; n < p->batches && status == QN_OK; n++) {
        qn_buffers call = *b;
        memcpy(image + above, (const int8_t *)b->in[0] + n * image_bytes(p),
               (size_t)image_bytes(p));
        call.in[0] = image;
        call.out = (int8_t *)b->out + n * outputs;
        status = row->run(&tall, &call);
    }
    return status;
}

/* ---- a row for each instruction set: the functions with the row that they call ---- */
#define FUNCTIONS(isa)                                                                     \
    static int convolve_run_##isa(const void *p, const qn_buffers *b) {                    \
        return convolve_run(p, b, &s_fc_per_channel_s8_##isa);                             \
    }                                                                                      \
    static int64_t convolve_scratch_##isa(const void *p) {                                 \
        return convolve_scratch(p, &s_fc_per_channel_s8_##isa);                            \
    }                                                                                      \
    static int64_t convolve_packed_##isa(const void *p) {                                  \
        return convolve_packed(p, &s_fc_per_channel_s8_##isa);                             \
    }                                                                                      \
    static void convolve_pack_##isa(const void *p, const void *weights, const void *bias,  \
                                    void *packed) {                                        \
        convolve_pack(p, weights, bias, packed, &s_fc_per_channel_s8_##isa);               \
    }                                                                                      \
    static int depthwise_run_##isa(const void *p, const qn_buffers *b) {                   \
        return depthwise_run(p, b, &s_depthwise_s8_##isa);                                 \
    }                                                                                      \
    static int64_t depthwise_scratch_##isa(const void *p) {                                \
        return depthwise_scratch(p, &s_depthwise_s8_##isa);                                \
    }                                                                                      \
    static int64_t depthwise_packed_##isa(const void *p) {                                 \
        return depthwise_packed(p, &s_depthwise_s8_##isa);                                 \
    }                                                                                      \
    static void depthwise_pack_##isa(const void *p, const void *weights, const void *bias, \
                                     void *packed) {                                       \
        depthwise_pack(p, weights, bias, packed, &s_depthwise_s8_##isa);                   \
    }

#if QN_HAS_X86
FUNCTIONS(avx512)
FUNCTIONS(avx2)

const qn_functions s_esp_convolve_s8_avx512 = {convolve_run_avx512, convolve_scratch_avx512,
                                               convolve_packed_avx512, convolve_pack_avx512,
                                               qn_always_pays};

const qn_functions s_esp_depthwise_conv_s8_avx512 = {depthwise_run_avx512, depthwise_scratch_avx512,
                                                     depthwise_packed_avx512, depthwise_pack_avx512,
                                                     qn_always_pays};

const qn_functions s_esp_convolve_s8_avx2 = {convolve_run_avx2, convolve_scratch_avx2,
                                             convolve_packed_avx2, convolve_pack_avx2,
                                             qn_always_pays};

const qn_functions s_esp_depthwise_conv_s8_avx2 = {depthwise_run_avx2, depthwise_scratch_avx2,
                                                   depthwise_packed_avx2, depthwise_pack_avx2,
                                                   qn_always_pays};
#endif

FUNCTIONS(portable)

const qn_functions s_esp_convolve_s8_portable = {convolve_run_portable, convolve_scratch_portable,
                                                 convolve_packed_portable, convolve_pack_portable,
                                                 qn_always_pays};

const qn_functions s_esp_depthwise_conv_s8_portable = {
    depthwise_run_portable, depthwise_scratch_portable, depthwise_packed_portable,
    depthwise_pack_portable, qn_always_pays};
