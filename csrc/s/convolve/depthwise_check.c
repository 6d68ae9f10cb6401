/* The contracts of the depthwise convolutions of the s8 and s16 API. */
#include "depthwise_helium.h"

static int ranges(const qn_s_depthwise *p, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},
        {"ch_mult", p->ch_mult, 1, UINT16_MAX / (p->input_c > 0 ? p->input_c : 1)},
        {"filter_h", p->filter_h, 1, UINT16_MAX},
        {"filter_w", p->filter_w, 1, UINT16_MAX / (p->filter_h > 0 ? p->filter_h : 1)},
        {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX},
        {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"dilation_h", p->dilation_h, 1, UINT16_MAX},
        {"dilation_w", p->dilation_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, -INT16_MIN},
        {"pad_w", p->pad_w, 0, -INT16_MIN},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* Start of the last window of an axis. */
static int64_t last_of(int32_t output, int32_t stride, int32_t pad) {
    return (output - 1) * (int64_t)stride - pad;
}

static int windows(const qn_s_depthwise *p, char *why) {
    int64_t y = last_of(p->output_h, p->stride_h, p->pad_h);
    int64_t x = last_of(p->output_w, p->stride_w, p->pad_w);
    if (y > INT16_MAX || x > INT16_MAX) {
        return qn_deny(
            why, QN_REFUSED,
            "the last window must begin at 32767 at most, as the device counts in 16 bits; "
            "make output_h and output_w smaller");
    }
    return QN_OK;
}

static int quantization(const qn_s_depthwise *p, char *why) {
    const s_range all[] = {
        {"input_offset", p->input_offset, -127, 128},
        {"output_offset", p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* Requirements of functions with special shapes. samples: do they take one alone? */
static int plain_shape(const qn_s_depthwise *p, int one_sample, char *why) {
    if (p->ch_mult != 1) {
        return qn_deny(why, QN_REFUSED,
                       "ch_mult must be 1 here, is %ld: the device answers ARM_CMSIS_NN_ARG_ERROR",
                       (long)p->ch_mult);
    }
    if (p->dilation_h != 1 || p->dilation_w != 1 || (one_sample && p->batches != 1)) {
        return qn_deny(why, QN_REFUSED,
                       "dilations%s must be 1 here, as the function does not look at them, are "
                       "%ld, %ld; %ld samples",
                       one_sample ? " and samples" : "", (long)p->dilation_h, (long)p->dilation_w,
                       (long)p->batches);
    }
    return QN_OK;
}

static int check_3x3(const qn_s_depthwise *p, char *why) {
    if (p->filter_h != 3 || p->filter_w != 3 || p->pad_w > 1) {
        return qn_deny(
            why, QN_REFUSED,
            "the filter must be 3 x 3 and pad_w at most 1, are %ld x %ld and %ld: otherwise "
            "the device answers ARM_CMSIS_NN_ARG_ERROR",
            (long)p->filter_h, (long)p->filter_w, (long)p->pad_w);
    }
    if (last_of(p->output_w, p->stride_w, p->pad_w) > p->input_w - 2) {
        return qn_deny(
            why, QN_REFUSED,
            "a window of 3 x 3 that lacks more than one column on the right reads beside "
            "its row on this core; make output_w smaller");
    }
    return plain_shape(p, 1, why);
}

static int rows_meet(const qn_s_depthwise *p, char *why) {
    if (p->pad_h > p->filter_h || last_of(p->output_h, p->stride_h, p->pad_h) > p->input_h) {
        return qn_deny(
            why, QN_REFUSED,
            "a window that lies above or below the image, not even beside its edge, makes "
            "this core write beside its scratch memory; make pad_h or output_h smaller");
    }
    return QN_OK;
}

static int check_opt(const qn_s_depthwise *p, int one_sample, int careful, char *why) {
    int status = plain_shape(p, one_sample, why);
    return status == QN_OK && careful ? rows_meet(p, why) : status;
}

static int as_convolution(const qn_s_depthwise *p, char *why) {
    const qn_s_conv whole = s_depthwise_as_convolution(p);
    const s_row row = s_row_of(&whole);
    int status = s_convolve_route_check(&whole, 0, why);
    if (status == QN_OK && s_route(&whole) == QN_S_1XN && s_row_differs(&whole, &row)) {
        return qn_deny(
            why, QN_REFUSED,
            "one input channel and one row, padded like this, have bits on this core that "
            "depend on the compiler of the library");
    }
    return status;
}

static int check_route(const qn_s_depthwise *p, char *why) {
    if (s_depthwise_is_convolution(p)) {
        return as_convolution(p, why);
    }
    switch (s_depthwise_route(p)) {
        case QN_S_3X3:
            return check_3x3(p, why);
        case QN_S_OPT:
            return check_opt(p, 1, qn_is_dsp(p->profile), why);
        default:
            return QN_OK;
    }
}

static int fill(const qn_s_depthwise *p, int64_t element, int64_t row, qn_sizes *sizes, char *why) {
    int32_t channels = s_depthwise_channels(p);
    int64_t in =
        s_elements(element, (int32_t[]){p->batches, p->input_h, p->input_w, p->input_c}, 4);
    int64_t weights = s_elements(1, (int32_t[]){p->filter_h, p->filter_w, channels}, 3);
    int64_t out =
        s_elements(element, (int32_t[]){p->batches, p->output_h, p->output_w, channels}, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * element;
    sizes->weights = weights;
    sizes->bias = channels * 3 * row;
    sizes->out = out * element;
    return QN_OK;
}

int s_depthwise_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_depthwise *p = params;
    int status = ranges(p, why);
    status = status == QN_OK ? windows(p, why) : status;
    status = status == QN_OK ? quantization(p, why) : status;
    status = status == QN_OK ? check_route(p, why) : status;
    return status == QN_OK ? fill(p, 1, 4, sizes, why) : status;
}

int s_depthwise_s4_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_depthwise *p = params;
    int status = ranges(p, why);
    status = status == QN_OK ? windows(p, why) : status;
    status = status == QN_OK ? quantization(p, why) : status;
    if (status == QN_OK && s_depthwise_s4_route(p) == QN_S_OPT) {
        status = check_opt(p, 1, qn_path(p->profile) != QN_PATH_MVE, why);
    }
    status = status == QN_OK ? fill(p, 1, 4, sizes, why) : status;
    sizes->weights = (sizes->weights + 1) / 2;
    return status;
}

static int check_fast(const qn_s_depthwise *p, char *why) {
    if ((int64_t)p->filter_h * p->filter_w >= S_DEPTHWISE_SLOW_TAPS) {
        return qn_deny(
            why, QN_REFUSED,
            "filter_h * filter_w must be below 512 here, are %ld, %ld: the device answers "
            "ARM_CMSIS_NN_ARG_ERROR",
            (long)p->filter_h, (long)p->filter_w);
    }
    return check_opt(p, 0, qn_is_dsp(p->profile), why);
}

int s_depthwise_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_depthwise *p = params;
    const s_range range[] = {
        {"act_min", p->act_min, INT16_MIN, INT16_MAX},
        {"act_max", p->act_max, p->act_min, INT16_MAX},
    };
    int status = ranges(p, why);
    status = status == QN_OK ? windows(p, why) : status;
    status = status == QN_OK ? s_in_ranges(range, sizeof range / sizeof range[0], why) : status;
    if (status == QN_OK && s_depthwise_s16_route(p) == QN_S_OPT) {
        status = check_fast(p, why);
    }
    return status == QN_OK ? fill(p, 2, 8, sizes, why) : status;
}

int s_depthwise_split(void *params, qn_extent *extent) {
    qn_s_depthwise *p = params;
    if (p->batches != 1) {
        return QN_REFUSED;
    }
    *extent = (qn_extent){
        .y = {&p->input_h, &p->output_h, &p->pad_h, p->filter_h, p->stride_h, p->dilation_h},
        .x = {&p->input_w, &p->output_w, &p->pad_w, p->filter_w, p->stride_w, p->dilation_w},
        .step = 1,
    };
    return QN_OK;
}
