/* The contracts of the convolutions of the s8 and s16 API. */
#include "convolve_row.h"

static int ranges(const qn_s_conv *p, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},       {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},       {"input_c", p->input_c, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},     {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"filter_c", p->filter_c, 1, UINT16_MAX},     {"output_h", p->output_h, 1, UINT16_MAX},
        {"output_w", p->output_w, 1, UINT16_MAX},     {"output_c", p->output_c, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX},     {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"dilation_h", p->dilation_h, 1, UINT16_MAX}, {"dilation_w", p->dilation_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, UINT16_MAX},           {"pad_w", p->pad_w, 0, UINT16_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status == QN_OK && s_taps(p) > UINT16_MAX) {
        return qn_deny(
            why, QN_REFUSED,
            "filter_h * filter_w * filter_c must be at most 65535, which the device counts "
            "to, are %ld, %ld, %ld",
            (long)p->filter_h, (long)p->filter_w, (long)p->filter_c);
    }
    return status;
}

static int groups_fit(const qn_s_conv *p, char *why) {
    if (p->input_c % p->filter_c != 0 || p->output_c % s_groups(p) != 0) {
        return qn_deny(
            why, QN_REFUSED,
            "input_c must be a multiple of filter_c, and output_c of their quotient, are "
            "%ld, %ld, %ld",
            (long)p->input_c, (long)p->filter_c, (long)p->output_c);
    }
    return QN_OK;
}

static int no_groups(const qn_s_conv *p, char *why) {
    if (p->input_c != p->filter_c) {
        return qn_deny(why, QN_REFUSED,
                       "filter_c must be input_c, as the device knows no groups here, are %ld, %ld",
                       (long)p->filter_c, (long)p->input_c);
    }
    return QN_OK;
}

static int quantization(const qn_s_conv *p, char *why) {
    const s_range all[] = {
        {"input_offset", p->input_offset, -127, 128},
        {"output_offset", p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* element: bytes of one of an image; row: of one of the array `bias`. */
static int fill(const qn_s_conv *p, int64_t element, int64_t row, qn_sizes *sizes, char *why) {
    int64_t in =
        s_elements(element, (int32_t[]){p->batches, p->input_h, p->input_w, p->input_c}, 4);
    int64_t weights =
        s_elements(1, (int32_t[]){p->output_c, p->filter_h, p->filter_w, p->filter_c}, 4);
    int64_t out =
        s_elements(element, (int32_t[]){p->batches, p->output_h, p->output_w, p->output_c}, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * element;
    sizes->weights = weights;
    sizes->bias = p->output_c * 3 * row;
    sizes->out = out * element;
    return QN_OK;
}

static int check_1x1(const qn_s_conv *p, int fast, char *why) {
    if (p->pad_h != 0 || p->pad_w != 0) {
        return qn_deny(why, QN_REFUSED,
                       "a 1x1 convolution takes no padding (the device answers "
                       "ARM_CMSIS_NN_ARG_ERROR), pad_h and pad_w are %ld, %ld",
                       (long)p->pad_h, (long)p->pad_w);
    }
    if (fast && (p->stride_h != 1 || p->stride_w != 1)) {
        return qn_deny(why, QN_REFUSED,
                       "the fast 1x1 convolution takes strides of 1 (the device answers "
                       "ARM_CMSIS_NN_ARG_ERROR), are %ld, %ld",
                       (long)p->stride_h, (long)p->stride_w);
    }
    if (s_taps(p) != p->input_c) {
        return qn_deny(why, QN_REFUSED,
                       "a 1x1 convolution has filters of 1 x 1 x input_c, which its function does "
                       "not look at, are %ld x %ld x %ld",
                       (long)p->filter_h, (long)p->filter_w, (long)p->filter_c);
    }
    if (fast && (p->output_h != p->input_h || p->output_w != p->input_w)) {
        return qn_deny(why, QN_REFUSED,
                       "a 1x1 convolution computes every pixel of its input, %ld x %ld; the output "
                       "has %ld x %ld",
                       (long)p->input_h, (long)p->input_w, (long)p->output_h, (long)p->output_w);
    }
    int64_t last_y = (p->output_h - 1) * (int64_t)p->stride_h;
    int64_t last_x = (p->output_w - 1) * (int64_t)p->stride_w;
    if (last_y >= p->input_h || last_x >= p->input_w) {
        return qn_deny(why, QN_REFUSED,
                       "a 1x1 convolution reads beside its input where an output pixel has none; "
                       "make output_h and output_w smaller");
    }
    return QN_OK;
}

static int reads_beside(const qn_s_conv *p) {
    const s_row r = s_row_of(p);
    if (!r.split || r.right == 0) {
        return 0;
    }
    const int32_t last = p->output_w - 1;
    int beside = p->filter_w > 1 && r.start + p->filter_w - 2 >= p->input_w;
    return beside || s_row_pixel(p, &r, last, p->filter_w - 1) >= p->input_w;
}

/* On Helium. */
static int check_row(const qn_s_conv *p, int s4, char *why) {
    if (s_row_fails(p) || (s4 && !s_row_of(p).split)) {
        return qn_deny(
            why, QN_SIZE_MISMATCH,
            "the device answers -3 to a convolution of one row on this core, unless it is "
            "padded on the left by half of all its padding, which output_w implies, rounded "
            "down%s",
            s4 ? ", in fewer columns than there are" : "");
    }
    if (p->output_h != 1) {
        return qn_deny(why, QN_REFUSED,
                       "of a convolution of one row this core computes one row, output_h is %ld",
                       (long)p->output_h);
    }
    if (!s4 && reads_beside(p)) {
        return qn_deny(
            why, QN_REFUSED,
            "a convolution of one row reads beside its input on this core where the first "
            "column that is padded on the right lacks more than one pixel");
    }
    return QN_OK;
}

static int check_1xn(const qn_s_conv *p, int s4, char *why) {
    if (p->input_h != 1 || p->dilation_w != 1 || (int64_t)p->stride_w * p->input_c % 4 != 0) {
        return qn_deny(
            why, QN_REFUSED,
            "a convolution of one row needs input_h = 1, dilation_w = 1, and a multiple of "
            "4 as stride_w * input_c, otherwise the device answers ARM_CMSIS_NN_ARG_ERROR");
    }
    if (p->filter_h != 1 || p->filter_c != p->input_c) {
        return qn_deny(why, QN_REFUSED,
                       "a convolution of one row has filters of 1 x filter_w x input_c, are "
                       "%ld x %ld x %ld",
                       (long)p->filter_h, (long)p->filter_w, (long)p->filter_c);
    }
    return qn_path(p->profile) == QN_PATH_MVE ? check_row(p, s4, why) : QN_OK;
}

static int check_even(const qn_s_conv *p, char *why) {
    if (qn_path(p->profile) != QN_PATH_MVE) {
        return qn_deny(why, QN_REFUSED,
                       "arm_convolve_even_s4 is for cores with Helium; this one answers "
                       "ARM_CMSIS_NN_NO_IMPL_ERROR (-2): use arm_convolve_wrapper_s4");
    }
    if (s_taps(p) % 2) {
        return qn_deny(
            why, QN_REFUSED,
            "filter_h * filter_w * input_c must be even here, is %ld: otherwise the device "
            "answers ARM_CMSIS_NN_ARG_ERROR",
            (long)s_taps(p));
    }
    return QN_OK;
}

int s_convolve_route_check(const qn_s_conv *p, int s4, char *why) {
    switch (s_route(p)) {
        case QN_S_EVEN:
            return check_even(p, why);
        case QN_S_1X1:
            return check_1x1(p, 0, why);
        case QN_S_1X1_FAST:
            return check_1x1(p, 1, why);
        case QN_S_1XN:
            return check_1xn(p, s4, why);
        default:
            return QN_OK;
    }
}

int s_convolve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_conv *p = params;
    int status = ranges(p, why);
    status = status == QN_OK ? groups_fit(p, why) : status;
    status = status == QN_OK ? quantization(p, why) : status;
    status = status == QN_OK ? s_convolve_route_check(p, 0, why) : status;
    return status == QN_OK ? fill(p, 1, 4, sizes, why) : status;
}

int s_convolve_s4_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_conv *p = params;
    int status = ranges(p, why);
    status = status == QN_OK ? no_groups(p, why) : status;
    status = status == QN_OK ? quantization(p, why) : status;
    status = status == QN_OK ? s_convolve_route_check(p, 1, why) : status;
    status = status == QN_OK ? fill(p, 1, 4, sizes, why) : status;
    sizes->weights = (sizes->weights + 1) / 2;
    return status;
}

/* Arm's code for the last of an odd number of channels, where pixels come in pairs. */
static int dsp_stays_inside(const qn_s_conv *p, char *why) {
    int pairs = (int64_t)p->output_h * p->output_w > 1;
    if (p->kernel != QN_S_REFERENCE && qn_is_dsp(p->profile) && !p->bias_is_int32 &&
        p->output_c % 2 && pairs && s_taps(p) > S_FAST_TAPS && s_taps(p) % 4) {
        return qn_deny(
            why, QN_REFUSED,
            "on this core the last of an odd number of output channels reads beside the "
            "filter, as filter_h * filter_w * filter_c is %ld: above 512 and no multiple "
            "of 4; use an even number of channels or a bias of 32 bits",
            (long)s_taps(p));
    }
    return QN_OK;
}

int s_convolve_s16_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_conv *p = params;
    const s_range range[] = {
        {"act_min", p->act_min, INT16_MIN, INT16_MAX},
        {"act_max", p->act_max, p->act_min, INT16_MAX},
        {"bias_is_int32", p->bias_is_int32, 0, 1},
    };
    int status = ranges(p, why);
    if (status == QN_OK) {
        status = p->kernel == QN_S_REFERENCE ? groups_fit(p, why) : no_groups(p, why);
    }
    status = status == QN_OK ? s_in_ranges(range, sizeof range / sizeof range[0], why) : status;
    status = status == QN_OK ? dsp_stays_inside(p, why) : status;
    return status == QN_OK ? fill(p, 2, 8, sizes, why) : status;
}

int s_convolve_split(void *params, qn_extent *extent) {
    qn_s_conv *p = params;
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

/* Pixels are in pairs, and the last of an odd number has different sums (convolve.h): a part has an
 * even number of rows or pixels, but for the last. */
int s_convolve_s16_split(void *params, qn_extent *extent) {
    const int status = s_convolve_split(params, extent);
    extent->step = 2;
    return status;
}
