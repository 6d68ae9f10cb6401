/* Convolution of the NPU, plain. */
#include "convolve.h"

static int ranges(const qn_npu_conv *p, char *why) {
    const struct {
        const char *name;
        int32_t value, low;
    } parameters[] = {
        {"in_h", p->in_h, 1},
        {"in_w", p->in_w, 1},
        {"depth", p->depth, 1},
        {"out_h", p->out_h, 1},
        {"out_w", p->out_w, 1},
        {"out_c", p->out_c, 1},
        {"kernel_h", p->kernel_h, 1},
        {"kernel_w", p->kernel_w, 1},
        {"stride_h", p->stride_h, 1},
        {"stride_w", p->stride_w, 1},
        {"pad_n", p->pad_n, 0},
        {"pad_w", p->pad_w, 0},
        {"group", p->group, 1},
        {"dilation_h", p->dilation_h, 1},
        {"dilation_w", p->dilation_w, 1},
    };
    int status = QN_OK;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == QN_OK; i++) {
        status =
            qn_in_range(parameters[i].name, parameters[i].value, parameters[i].low, N_SIDE, why);
    }
    return status;
}

static int check(const qn_npu_conv *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = ranges(p, why);
    if (status != QN_OK) {
        return status;
    }
    if (p->out_c % p->group) {
        return qn_deny(why, QN_REFUSED, "group %ld does not divide %ld output channels",
                       (long)p->group, (long)p->out_c);
    }
    if (n_convolve_row(p) > 1 << 20) {
        return qn_deny(why, QN_REFUSED, "a sum has %lld products, at most 2^20 are possible",
                       (long long)n_convolve_row(p));
    }
    sizes->in[0] = (int64_t)p->in_h * p->in_w * p->group * element * p->depth;
    sizes->weights = n_convolve_row(p) * p->out_c * element;
    sizes->bias = p->out_c * (int64_t)sizeof(n_channel);
    sizes->out = (int64_t)p->out_h * p->out_w * p->out_c * element;
    status = n_fits("the input", sizes->in[0], why);
    if (status == QN_OK) {
        status = n_fits("the weights", sizes->weights, why);
    }
    return status == QN_OK ? n_fits("the output", sizes->out, why) : status;
}

int n_convolve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int n_convolve_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

/* Sum the products of one tap: a run of channels. */
static inline int64_t tap(const void *in, qn_read *read, int64_t at, const void *weights,
                          qn_read *weight, int64_t from, int32_t depth) {
    int64_t sum = 0;
    for (int32_t c = 0; c < depth; c++) {
        sum += (int64_t)read(in, at + c) * weight(weights, from + c);
    }
    return sum;
}

static inline int64_t window(const qn_npu_conv *p, const qn_buffers *b, qn_read *read,
                             qn_read *weight, int32_t y, int32_t x, int32_t o) {
    int64_t group = o / (p->out_c / p->group), channels = (int64_t)p->group * p->depth;
    int64_t from = o * n_convolve_row(p), sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++, from += p->depth) {
            int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_n;
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            if (in_y >= 0 && in_y < p->in_h && in_x >= 0 && in_x < p->in_w) {
                int64_t at = (in_y * p->in_w + in_x) * channels + group * p->depth;
                sum += tap(b->in[0], read, at, b->weights, weight, from, p->depth);
            }
        }
    }
    return sum;
}

static inline int convolve(const qn_npu_conv *p, const qn_buffers *b, qn_read *read,
                           qn_read *weight, qn_write *write) {
    const n_channel *channels = b->bias;
    int64_t at = 0;
    for (int32_t y = 0; y < p->out_h; y++) {
        for (int32_t x = 0; x < p->out_w; x++) {
            for (int32_t o = 0; o < p->out_c; o++, at++) {
                int64_t sum = channels[o].start + window(p, b, read, weight, y, x, o);
                write(b->out, at, qn_asr64(sum, n_shift(channels + o)));
            }
        }
    }
    return QN_OK;
}

int n_convolve_s8_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, qn_read_s8, qn_read_s8, qn_write_s8);
}

int n_convolve_u8_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, qn_read_u8, qn_read_s8, qn_write_s8);
}

int n_convolve_s16_ref(const void *params, const qn_buffers *b) {
    return convolve(params, b, qn_read_s16, qn_read_s16, qn_write_s16);
}

int n_convolve_split(void *params, qn_extent *extent) {
    qn_npu_conv *p = params;
    *extent = (qn_extent){
        .y = {&p->in_h, &p->out_h, &p->pad_n, p->kernel_h, p->stride_h, p->dilation_h},
        .x = {&p->in_w, &p->out_w, &p->pad_w, p->kernel_w, p->stride_w, p->dilation_w},
        .step = 1,
    };
    return QN_OK;
}
