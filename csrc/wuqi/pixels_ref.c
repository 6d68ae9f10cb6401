/* Layers of the NPU that process the channels of one pixel at a time, plain. */
#include "each.h"

static int pixels(const qn_npu_pixels *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = qn_in_range("pixels", p->pixels, 1, INT32_MAX, why);
    if (status == QN_OK) {
        status = qn_in_range("channels", p->channels, 1, N_SIDE, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("shift", p->shift, 0, 31, why);
    }
    if (status == QN_OK) {
        sizes->in[0] = sizes->out = p->pixels * element * p->channels;
        status = n_fits("the tensor", sizes->out, why);
    }
    return status;
}

static int check_scale(const qn_npu_pixels *p, int64_t element, qn_sizes *sizes, char *why) {
    sizes->in[1] = p->channels * element;
    return pixels(p, element, sizes, why);
}

int n_scale_by_tensor_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check_scale(params, 1, sizes, why);
}
int n_scale_by_tensor_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check_scale(params, 2, sizes, why);
}

static inline int scale(const qn_npu_pixels *p, const qn_buffers *b, qn_read *read,
                        qn_write *write) {
    for (int64_t at = 0; at < (int64_t)p->pixels * p->channels; at++) {
        int64_t product = (int64_t)read(b->in[0], at) * read(b->in[1], at % p->channels);
        write(b->out, at, qn_asr64(product, p->shift));
    }
    return QN_OK;
}

int n_scale_by_tensor_s8_ref(const void *params, const qn_buffers *b) {
    return scale(params, b, qn_read_s8, qn_write_s8);
}
int n_scale_by_tensor_s16_ref(const void *params, const qn_buffers *b) {
    return scale(params, b, qn_read_s16, qn_write_s16);
}

int n_log_softmax_s8_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->weights = N_LOG_TABLE_S8;
    return pixels(params, 1, sizes, why);
}
int n_log_softmax_s16_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->weights = (int64_t)2 * N_LOG_TABLE_S16;
    return pixels(params, 2, sizes, why);
}

static inline int log_softmax(const qn_npu_pixels *p, const qn_buffers *b, qn_read *read,
                              qn_write *write, int32_t entries, int32_t lowest, int32_t highest) {
    for (int64_t pixel = 0; pixel < p->pixels; pixel++) {
        int64_t at = pixel * p->channels;
        int32_t sum = read(b->in[0], at);
        for (int32_t c = 1; c < p->channels; c++) {
            int32_t x = read(b->in[0], at + c), distance = sum > x ? sum - x : x - sum;
            int32_t more = distance < entries ? read(b->weights, distance) : 0;
            sum = qn_clamp((sum > x ? sum : x) + more, lowest, highest);
        }
        for (int32_t c = 0; c < p->channels; c++) {
            write(b->out, at + c, (int64_t)read(b->in[0], at + c) - sum);
        }
    }
    return QN_OK;
}

int n_log_softmax_s8_ref(const void *params, const qn_buffers *b) {
    return log_softmax(params, b, qn_read_s8, qn_write_s8, N_LOG_TABLE_S8, INT8_MIN, INT8_MAX);
}
int n_log_softmax_s16_ref(const void *params, const qn_buffers *b) {
    return log_softmax(params, b, qn_read_s16, qn_write_s16, N_LOG_TABLE_S16, INT16_MIN, INT16_MAX);
}

static int check_channels(const qn_npu_channels *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = qn_in_range("pixels", p->pixels, 1, INT32_MAX, why);
    if (status == QN_OK) {
        status = qn_in_range("channels_a", p->channels_a, 1, N_SIDE, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("channels_b", p->channels_b, 0, N_SIDE, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("channels_out", p->channels_out, 1, 2 * N_SIDE, why);
    }
    if (status == QN_OK) {
        sizes->in[0] = p->pixels * element * p->channels_a;
        sizes->in[1] = p->pixels * element * p->channels_b;
        sizes->out = p->pixels * element * p->channels_out;
        sizes->weights = (int64_t)sizeof(int32_t) * p->channels_out;
        status = n_fits("the input", sizes->in[0] + sizes->in[1], why);
    }
    return status == QN_OK ? n_fits("the output", sizes->out, why) : status;
}

int n_channels_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check_channels(params, 1, sizes, why);
}
int n_channels_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check_channels(params, 2, sizes, why);
}

static inline int channels(const qn_npu_channels *p, const qn_buffers *b, qn_read *read,
                           qn_write *write) {
    const int32_t *map = b->weights;
    for (int64_t pixel = 0; pixel < p->pixels; pixel++) {
        for (int32_t i = 0; i < p->channels_out; i++) {
            int32_t from = map[i];
            int inside = from >= 0 && from < p->channels_a + p->channels_b;
            from = inside ? from : 0;
            int second = from >= p->channels_a;
            int64_t at = second ? pixel * p->channels_b + from - p->channels_a
                                : pixel * p->channels_a + from;
            write(b->out, pixel * p->channels_out + i, read(b->in[second], at));
        }
    }
    return QN_OK;
}

int n_channels_s8_ref(const void *params, const qn_buffers *b) {
    return channels(params, b, qn_read_s8, qn_write_s8);
}
int n_channels_s16_ref(const void *params, const qn_buffers *b) {
    return channels(params, b, qn_read_s16, qn_write_s16);
}
