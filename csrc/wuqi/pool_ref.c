/* Pooling of the NPU, plain. */
#include "pool.h"

static int ranges(const qn_npu_pool *p, char *why) {
    const struct {
        const char *name;
        int32_t value, low, high;
    } parameters[] = {
        {"in_h", p->in_h, 1, N_SIDE},
        {"in_w", p->in_w, 1, N_SIDE},
        {"channels", p->channels, 1, N_SIDE},
        {"out_h", p->out_h, 1, N_SIDE},
        {"out_w", p->out_w, 1, N_SIDE},
        {"kernel_h", p->kernel_h, 1, N_SIDE},
        {"kernel_w", p->kernel_w, 1, N_SIDE},
        {"stride_h", p->stride_h, 1, N_SIDE},
        {"stride_w", p->stride_w, 1, N_SIDE},
        {"dilation_h", p->dilation_h, 1, N_SIDE},
        {"dilation_w", p->dilation_w, 1, N_SIDE},
        {"pad_n", p->pad_n, 0, p->kernel_h - 1},
        {"pad_w", p->pad_w, 0, p->kernel_w - 1},
        {"pad_s", p->pad_s, -N_SIDE, p->kernel_h - 1},
        {"up", p->up, 0, 31},
        {"down", p->down, 0, p->up ? 0 : 31},
    };
    int status = QN_OK;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == QN_OK; i++) {
        status = qn_in_range(parameters[i].name, parameters[i].value, parameters[i].low,
                             parameters[i].high, why);
    }
    return status;
}

/* Check that the first and the last window of an axis both contain a cell of the image. */
static int covers_cells(int64_t out, int64_t stride, int64_t pad, int64_t kernel, int64_t dilation,
                        int64_t in, char *why) {
    int64_t last = (out - 1) * stride - pad;
    if (last >= in || dilation * (kernel - 1) < pad) {
        return qn_deny(why, QN_REFUSED,
                       "a window covers no cell of the image (out %lld, stride %lld, pad %lld, "
                       "kernel %lld, dilation %lld, in %lld)",
                       (long long)out, (long long)stride, (long long)pad, (long long)kernel,
                       (long long)dilation, (long long)in);
    }
    return QN_OK;
}

static int check(const qn_npu_pool *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = ranges(p, why);
    if (status == QN_OK) {
        status =
            covers_cells(p->out_h, p->stride_h, p->pad_n, p->kernel_h, p->dilation_h, p->in_h, why);
    }
    if (status == QN_OK) {
        status =
            covers_cells(p->out_w, p->stride_w, p->pad_w, p->kernel_w, p->dilation_w, p->in_w, why);
    }
    if (status == QN_OK && (int64_t)p->kernel_h * p->kernel_w > 1 << 16) {
        status = qn_deny(why, QN_REFUSED, "a window of %ld x %ld has more than 2^16 cells",
                         (long)p->kernel_h, (long)p->kernel_w);
    }
    if (status == QN_OK) {
        sizes->in[0] = (int64_t)p->in_h * p->in_w * p->channels * element;
        sizes->out = (int64_t)p->out_h * p->out_w * p->channels * element;
        status = n_fits("the input", sizes->in[0], why);
    }
    return status == QN_OK ? n_fits("the output", sizes->out, why) : status;
}

int n_pool_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int n_pool_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, sizes, why);
}

/* The largest cell of a window, the sum of its cells, and their number. */
typedef struct summary {
    int32_t largest;
    int64_t sum, count;
} summary;

static inline summary summarize(const qn_npu_pool *p, const void *in, qn_read *read, int32_t y,
                                int32_t x, int32_t c) {
    summary window = {.largest = INT32_MIN};
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            int64_t in_y = (int64_t)y * p->stride_h + (int64_t)ky * p->dilation_h - p->pad_n;
            int64_t in_x = (int64_t)x * p->stride_w + (int64_t)kx * p->dilation_w - p->pad_w;
            if (in_y >= 0 && in_y < p->in_h && in_x >= 0 && in_x < p->in_w) {
                int32_t value = read(in, (in_y * p->in_w + in_x) * p->channels + c);
                window.largest = value > window.largest ? value : window.largest;
                window.sum += value;
                window.count++;
            }
        }
    }
    return window;
}

typedef int64_t n_result(const qn_npu_pool *p, summary window, int32_t y, int32_t x);

/* Return the maximum. A window without a cell of the image has INT32_MIN, and writing saturates
 * it. */
static int64_t largest(const qn_npu_pool *p, summary window, int32_t y, int32_t x) {
    (void)p, (void)y, (void)x;
    return window.largest;
}

static int64_t average(const qn_npu_pool *p, summary window, int32_t y, int32_t x) {
    int64_t n = p->hw_aligned ? n_pool_divisor(p, y, x) : window.count;
    /* |sum| <= 2^31, so its product is below 2^62, and n * 2^31 is below 2^48. */
    int64_t numerator = window.sum * ((int64_t)1 << p->up);
    return n > 0 ? qn_floor_div64(numerator, n * ((int64_t)1 << p->down)) : 0;
}

static inline int pool(const qn_npu_pool *p, const qn_buffers *b, qn_read *read, qn_write *write,
                       n_result *result) {
    int64_t at = 0;
    for (int32_t y = 0; y < p->out_h; y++) {
        for (int32_t x = 0; x < p->out_w; x++) {
            for (int32_t c = 0; c < p->channels; c++, at++) {
                write(b->out, at, result(p, summarize(p, b->in[0], read, y, x, c), y, x));
            }
        }
    }
    return QN_OK;
}

int n_max_pool_s8_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s8, qn_write_s8, largest);
}

int n_max_pool_s16_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s16, qn_write_s16, largest);
}

int n_average_pool_s8_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s8, qn_write_s8, average);
}

int n_average_pool_s16_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s16, qn_write_s16, average);
}

/* Averages are not split: their divisor depends on the window's position in the whole image. */
int n_max_pool_split(void *params, qn_extent *extent) {
    qn_npu_pool *p = params;
    *extent = (qn_extent){
        .y = {&p->in_h, &p->out_h, &p->pad_n, p->kernel_h, p->stride_h, p->dilation_h},
        .x = {&p->in_w, &p->out_w, &p->pad_w, p->kernel_w, p->stride_w, p->dilation_w},
        .step = 1,
    };
    return QN_OK;
}
