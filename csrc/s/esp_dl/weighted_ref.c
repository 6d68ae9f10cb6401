/* Layers of ESP-DL with weights, plain. */
#include "weighted.h"

/* Adds the products of channel o at output (y, x) of image n. is_depthwise: of its own channel
 * alone, with filters [ky][kx][o]. */
static void add_window(const qn_dl_conv *p, const qn_buffers *b, const int32_t place[4],
                       int is_depthwise, int is_wide, s_dl_acc *acc) {
    const int32_t n = place[0], y = place[1], x = place[2], o = place[3];
    const int64_t image = (int64_t)n * p->input_h * p->input_w;
    const int32_t first = is_depthwise ? o : 0, last = is_depthwise ? o + 1 : p->input_c;
    int64_t weight = is_depthwise ? o : o * s_dl_taps(p);
    for (int32_t ky = 0; ky < p->filter_h; ky++) {
        for (int32_t kx = 0; kx < p->filter_w; kx++, weight += p->input_c) {
            const int64_t pixel = s_dl_pixel(p, y, x, ky, kx);
            for (int32_t c = first; pixel >= 0 && c < last; c++) {
                int64_t factor = s_dl_at(b->in[0], (image + pixel) * p->input_c + c, is_wide);
                s_dl_add(acc, factor * s_dl_at(b->weights, weight + c - first, is_wide));
            }
        }
    }
}

int64_t s_dl_convolve_at(const qn_dl_conv *p, const qn_buffers *b, const int32_t place[4],
                         int is_depthwise, int is_wide) {
    const int32_t o = place[3];
    const int in_lanes = is_depthwise || s_dl_in_lanes(o, p->output_c);
    s_dl_acc acc =
        s_dl_start(s_dl_bias(b->bias, o, is_wide), s_dl_bits(p->chip, is_wide, in_lanes));
    add_window(p, b, place, is_depthwise, is_wide, &acc);
    const int32_t channels = is_depthwise ? p->input_c : p->output_c;
    const int shift = s_dl_right_shift(p, b->bias, o, channels, is_wide);
    return s_dl_output(s_dl_value(&acc, is_wide), shift, p->rectified, p->chip);
}

static int convolve(const qn_dl_conv *p, const qn_buffers *b, int is_depthwise, int is_wide) {
    const int32_t channels = is_depthwise ? p->input_c : p->output_c;
    int64_t index = 0;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t o = 0; o < channels; o++, index++) {
                    const int32_t place[] = {n, y, x, o};
                    s_dl_put(b->out, index, s_dl_convolve_at(p, b, place, is_depthwise, is_wide),
                             is_wide);
                }
            }
        }
    }
    return QN_OK;
}

int s_dl_convolve_s8_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, 0, 0);
}

int s_dl_convolve_s16_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, 0, 1);
}

int s_dl_depthwise_conv_s8_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, 1, 0);
}

int s_dl_depthwise_conv_s16_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, 1, 1);
}

qn_dl_conv s_dl_as_pixels(const qn_dl_dense *p) {
    return (qn_dl_conv){.profile = p->profile,
                        .batches = p->batches,
                        .input_h = 1,
                        .input_w = 1,
                        .input_c = p->input_c,
                        .filter_h = 1,
                        .filter_w = 1,
                        .output_h = 1,
                        .output_w = 1,
                        .output_c = p->output_c,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dilation_h = 1,
                        .dilation_w = 1,
                        .right_shift = p->right_shift,
                        .rectified = p->rectified,
                        .per_channel = p->per_channel,
                        .chip = p->chip};
}

/* right: the factors [m][o][c]. */
static int multiply(const qn_dl_dense *p, const qn_buffers *b, const void *right, int is_wide) {
    const qn_dl_conv pixels = s_dl_as_pixels(p);
    int64_t index = 0;
    for (int64_t row = 0; row < (int64_t)p->matrices * p->batches; row++) {
        for (int32_t o = 0; o < p->output_c; o++, index++) {
            const int64_t column = row / p->batches * p->output_c + o;
            s_dl_acc acc = s_dl_start(s_dl_bias(b->bias, o, is_wide),
                                      s_dl_bits(p->chip, is_wide, s_dl_in_lanes(o, p->output_c)));
            for (int32_t c = 0; c < p->input_c; c++) {
                s_dl_add(&acc, s_dl_at(b->in[0], row * p->input_c + c, is_wide) *
                                   s_dl_at(right, column * p->input_c + c, is_wide));
            }
            const int shift = s_dl_right_shift(&pixels, b->bias, o, p->output_c, is_wide);
            int64_t value = s_dl_value(&acc, is_wide);
            s_dl_put(b->out, index, s_dl_output(value, shift, p->rectified, p->chip), is_wide);
        }
    }
    return QN_OK;
}

int s_dl_dense_s8_ref(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->weights, 0);
}

int s_dl_dense_s16_ref(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->weights, 1);
}

int s_dl_matmul_s8_ref(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->in[1], 0);
}

int s_dl_matmul_s16_ref(const void *params, const qn_buffers *b) {
    return multiply(params, b, b->in[1], 1);
}
