/* The contract of transposed convolutions. */
#include "transpose_conv.h"

/* element: bytes of one. */
static int ranges(const qn_s_transpose_conv *p, int64_t element, char *why) {
    const int wide = element == 2;
    const int32_t low = wide ? INT16_MIN : INT8_MIN, high = wide ? INT16_MAX : INT8_MAX;
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},
        {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"output_c", p->output_c, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX / (p->input_h > 0 ? p->input_h : 1)},
        {"stride_w", p->stride_w, 1, UINT16_MAX / (p->input_w > 0 ? p->input_w : 1)},
        {"dilation_h", p->dilation_h, 1, 1},
        {"dilation_w", p->dilation_w, 1, 1},
        {"pad_h", p->pad_h, 0, UINT16_MAX},
        {"pad_w", p->pad_w, 0, UINT16_MAX},
        {"input_offset", wide ? 0 : p->input_offset, -127, 128},
        {"output_offset", wide ? 0 : p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"act_min", p->act_min, low, high},
        {"act_max", p->act_max, p->act_min, high},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status == QN_OK && (int64_t)p->filter_h * p->filter_w * p->input_c > UINT16_MAX) {
        return qn_deny(
            why, QN_REFUSED,
            "filter_h * filter_w * input_c must be at most 65535, which the device counts "
            "to, are %ld, %ld, %ld",
            (long)p->filter_h, (long)p->filter_w, (long)p->input_c);
    }
    return status;
}

static int pads_fit(const qn_s_transpose_conv *p, char *why) {
    if (p->pad_h >= p->filter_h || p->pad_w >= p->filter_w) {
        return qn_deny(
            why, QN_REFUSED,
            "pad_h and pad_w must be below filter_h and filter_w, are %ld, %ld and %ld, %ld",
            (long)p->pad_h, (long)p->pad_w, (long)p->filter_h, (long)p->filter_w);
    }
    return QN_OK;
}

static int row_by_row(const qn_s_transpose_conv *p, char *why) {
    if (qn_release(p->profile) == QN_RELEASE_700 && p->pad_h % p->stride_h != 0) {
        return qn_deny(
            why, QN_REFUSED,
            "pad_h must be a multiple of stride_h, are %ld, %ld: CMSIS-NN 7.0.0 puts the rows too "
            "high and leaves the last ones unwritten; cmsis='main-2026-07' takes any pad, and so "
            "does a stride of at most 2 with more than 16 input channels",
            (long)p->pad_h, (long)p->stride_h);
    }
    int64_t least = (int64_t)p->input_h * p->stride_h - p->pad_h;
    int64_t more = p->filter_h > p->stride_h ? p->filter_h - p->stride_h : 0;
    if (least < 0 || p->output_h < least || p->output_h > least + more) {
        return qn_deny(why, QN_REFUSED,
                       "the device puts out %ld to %ld rows of this, output_h is %ld", (long)least,
                       (long)(least + more), (long)p->output_h);
    }
    int64_t wide = p->filter_w > p->stride_w ? p->filter_w : p->stride_w;
    int64_t most = (p->input_w - 1) * (int64_t)p->stride_w + wide - p->pad_w;
    if (p->output_w > most) {
        return qn_deny(
            why, QN_REFUSED,
            "the device has %ld columns of this and reads beside them beyond, output_w is "
            "%ld",
            (long)most, (long)p->output_w);
    }
    return QN_OK;
}

/* element: bytes of one; row: of one in the rows of `bias`. */
static int fill(const qn_s_transpose_conv *p, int64_t element, int64_t row, qn_sizes *sizes,
                char *why) {
    int64_t in =
        s_elements(element, (int32_t[]){p->batches, p->input_h, p->input_w, p->input_c}, 4);
    int64_t weights =
        s_elements(1, (int32_t[]){p->output_c, p->filter_h, p->filter_w, p->input_c}, 4);
    int64_t out =
        s_elements(element, (int32_t[]){p->batches, p->output_h, p->output_w, p->output_c}, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * element;
    sizes->weights = weights;
    sizes->bias = (int64_t)p->output_c * 3 * row;
    sizes->out = out * element;
    return QN_OK;
}

int s_transpose_conv_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_transpose_conv *p = params;
    int free = s_is_turned(p) || p->kernel == QN_S_REFERENCE;
    int status = ranges(p, 1, why);
    if (status == QN_OK) {
        status = free ? pads_fit(p, why) : row_by_row(p, why);
    }
    return status == QN_OK ? fill(p, 1, 4, sizes, why) : status;
}

int s_transpose_conv_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_transpose_conv *p = params;
    int status = ranges(p, 2, why);
    status = status == QN_OK ? pads_fit(p, why) : status;
    return status == QN_OK ? fill(p, 2, 8, sizes, why) : status;
}
