/* Pooling of the s8 and s16 API, plain: one pass over whole windows. */
#include "pool.h"

#include "../../common/element.h"

static int ranges(const qn_s_pool *p, char *why) {
    const struct {
        const char *name;
        int32_t value, low;
    } parameters[] = {
        {"batches", p->batches, 1},   {"input_h", p->input_h, 1},   {"input_w", p->input_w, 1},
        {"channels", p->channels, 1}, {"filter_h", p->filter_h, 1}, {"filter_w", p->filter_w, 1},
        {"stride_h", p->stride_h, 1}, {"stride_w", p->stride_w, 1}, {"pad_h", p->pad_h, 0},
        {"pad_w", p->pad_w, 0},       {"output_h", p->output_h, 1}, {"output_w", p->output_w, 1},
    };
    int status = QN_OK;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == QN_OK; i++) {
        status = qn_in_range(parameters[i].name, parameters[i].value, parameters[i].low, UINT16_MAX,
                             why);
    }
    return status;
}

/* The first window starts above the image by `pad`, the last one starts at the largest input. */
static int windows_hold_cells(const char *axis, int32_t filter, int32_t stride, int32_t pad,
                              int32_t input, int32_t output, char *why) {
    int64_t last = (int64_t)(output - 1) * stride - pad;
    if (pad >= filter || last >= input) {
        return qn_deny(why, QN_REFUSED,
                       "a window has no cell of the image: along %s filter %ld, stride %ld, pad "
                       "%ld, input %ld, output %ld",
                       axis, (long)filter, (long)stride, (long)pad, (long)input, (long)output);
    }
    return QN_OK;
}

static int check(const qn_s_pool *p, int64_t element, int32_t low, int32_t high, qn_sizes *sizes,
                 char *why) {
    int status = ranges(p, why);
    if (status == QN_OK) {
        status = windows_hold_cells("h", p->filter_h, p->stride_h, p->pad_h, p->input_h,
                                    p->output_h, why);
    }
    if (status == QN_OK) {
        status = windows_hold_cells("w", p->filter_w, p->stride_w, p->pad_w, p->input_w,
                                    p->output_w, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("act_min", p->act_min, low, high, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("act_max", p->act_max, p->act_min, high, why);
    }
    if (status != QN_OK) {
        return status;
    }
    if (p->batches > 1 && qn_release(p->profile) == QN_RELEASE_590) {
        return qn_deny(
            why, QN_REFUSED,
            "CMSIS 5.9.0 computes the first image of a batch alone and leaves the memory of "
            "the other %ld as it was: call it for each image",
            (long)p->batches - 1);
    }
    if ((int64_t)p->filter_h * p->filter_w > UINT16_MAX) {
        return qn_deny(why, QN_REFUSED, "a filter of %ld x %ld has more than 65535 cells",
                       (long)p->filter_h, (long)p->filter_w);
    }
    /* four factors below 2^16: the first three stay below 2^48 */
    int64_t most = INT32_MAX / element / p->batches;
    int64_t in = (int64_t)p->input_h * p->input_w * p->channels;
    int64_t out = (int64_t)p->output_h * p->output_w * p->channels;
    if (in > most || out > most) {
        return qn_deny(why, QN_REFUSED, "the %s has more than 2^31 - 1 bytes",
                       in > most ? "input" : "output");
    }
    sizes->in[0] = in * p->batches * element;
    sizes->out = out * p->batches * element;
    return QN_OK;
}

int s_pool_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, INT8_MIN, INT8_MAX, sizes, why);
}

int s_pool_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, INT16_MIN, INT16_MAX, sizes, why);
}

static int64_t cell(const qn_s_pool *p, int32_t n, int32_t y, int32_t x, int32_t c) {
    return (((int64_t)n * p->input_h + y) * p->input_w + x) * p->channels + c;
}

/* One window: its maximum, or its rounded mean. */
typedef int32_t s_summary(const qn_s_pool *p, const void *in, qn_read *read, int32_t n, s_span rows,
                          s_span columns, int32_t c);

static int32_t maximum(const qn_s_pool *p, const void *in, qn_read *read, int32_t n, s_span rows,
                       s_span columns, int32_t c) {
    int32_t most = INT16_MIN;
    for (int32_t y = rows.start; y < rows.stop; y++) {
        for (int32_t x = columns.start; x < columns.stop; x++) {
            int32_t value = read(in, cell(p, n, y, x, c));
            most = value > most ? value : most;
        }
    }
    return most;
}

static int32_t mean(const qn_s_pool *p, const void *in, qn_read *read, int32_t n, s_span rows,
                    s_span columns, int32_t c) {
    int32_t sum = 0; /* at most 65535 cells of 16 bits */
    for (int32_t y = rows.start; y < rows.stop; y++) {
        for (int32_t x = columns.start; x < columns.stop; x++) {
            sum += read(in, cell(p, n, y, x, c));
        }
    }
    return qn_mean(sum, (rows.stop - rows.start) * (columns.stop - columns.start));
}

static int32_t pooled(const qn_s_pool *p, const void *in, qn_read *read, s_summary *summary,
                      int32_t n, int32_t y, int32_t x, int32_t c) {
    int32_t value = summary(p, in, read, n, s_pool_rows(p, y), s_pool_columns(p, x), c);
    return qn_clamp(value, p->act_min, p->act_max);
}

static inline int pool(const qn_s_pool *p, const qn_buffers *b, qn_read *read, qn_write *write,
                       s_summary *summary) {
    int64_t at = 0;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t c = 0; c < p->channels; c++, at++) {
                    write(b->out, at, pooled(p, b->in[0], read, summary, n, y, x, c));
                }
            }
        }
    }
    return QN_OK;
}

int s_max_pool_s8_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s8, qn_write_s8, maximum);
}

int s_max_pool_s16_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s16, qn_write_s16, maximum);
}

int s_avgpool_s8_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s8, qn_write_s8, mean);
}

int s_avgpool_s16_ref(const void *params, const qn_buffers *b) {
    return pool(params, b, qn_read_s16, qn_write_s16, mean);
}

int s_pool_split(void *params, qn_extent *extent) {
    qn_s_pool *p = params;
    if (p->batches != 1) {
        return QN_REFUSED;
    }
    *extent = (qn_extent){
        .y = {&p->input_h, &p->output_h, &p->pad_h, p->filter_h, p->stride_h, 1},
        .x = {&p->input_w, &p->output_w, &p->pad_w, p->filter_w, p->stride_w, 1},
        .step = 1,
    };
    return QN_OK;
}
