/* The contracts of the layers of ESP-DL with weights. */
#include "weighted.h"

static int in_range_of_chip(int32_t shift, int32_t rectified, int32_t per_channel, int32_t chip,
                            int64_t element, char *why) {
    const int s3 = chip == QN_DL_S3;
    const s_range all[] = {
        {"chip", chip, QN_DL_C, QN_DL_P4},
        {"right_shift", shift, s3 ? 0 : -31,
         element == 1 ? 31
         : s3         ? 40
                      : 62},
        {"rectified", rectified, 0, 1},
        {"per_channel", per_channel, 0, 1},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status == QN_OK && per_channel && chip != QN_DL_P4) {
        return qn_deny(
            why, QN_REFUSED,
            "its weights have an exponent for each channel, for which ESP-DL has kernels "
            "of an ESP32-P4 alone; export the network for this chip");
    }
    return status;
}

static int windows(const qn_dl_conv *p, char *why) {
    const s_range all[] = {
        {"batches", p->batches, 1, UINT16_MAX},       {"input_h", p->input_h, 1, UINT16_MAX},
        {"input_w", p->input_w, 1, UINT16_MAX},       {"input_c", p->input_c, 1, UINT16_MAX},
        {"filter_h", p->filter_h, 1, UINT16_MAX},     {"filter_w", p->filter_w, 1, UINT16_MAX},
        {"output_h", p->output_h, 1, UINT16_MAX},     {"output_w", p->output_w, 1, UINT16_MAX},
        {"stride_h", p->stride_h, 1, UINT16_MAX},     {"stride_w", p->stride_w, 1, UINT16_MAX},
        {"dilation_h", p->dilation_h, 1, UINT16_MAX}, {"dilation_w", p->dilation_w, 1, UINT16_MAX},
        {"pad_h", p->pad_h, 0, UINT16_MAX},           {"pad_w", p->pad_w, 0, UINT16_MAX},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int few_taps(int64_t taps, char *why) {
    return taps <= UINT16_MAX
               ? QN_OK
               : qn_deny(why, QN_REFUSED, "a filter has at most 65535 taps, has %lld",
                         (long long)taps);
}

static int fill(const qn_dl_conv *p, int32_t channels, int64_t element, int64_t weights,
                qn_sizes *sizes, char *why) {
    const int32_t image[] = {p->batches, p->input_h, p->input_w, p->input_c};
    const int32_t result[] = {p->batches, p->output_h, p->output_w, channels};
    const int64_t in = s_elements(element, image, 4), out = s_elements(element, result, 4);
    if (in < 0 || weights < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : weights < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * element;
    sizes->weights = weights * element;
    sizes->bias = channels * (1 + p->per_channel) * 4 * element;
    sizes->out = out * element;
    return QN_OK;
}

static int convolve(const qn_dl_conv *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = windows(p, why);
    status = status == QN_OK ? qn_in_range("output_c", p->output_c, 1, UINT16_MAX, why) : status;
    status = status == QN_OK ? few_taps(s_dl_taps(p), why) : status;
    status = status == QN_OK ? in_range_of_chip(p->right_shift, p->rectified, p->per_channel,
                                                p->chip, element, why)
                             : status;
    const int32_t filter[] = {p->output_c, p->filter_h, p->filter_w, p->input_c};
    return status == QN_OK
               ? fill(p, p->output_c, element, s_elements(element, filter, 4), sizes, why)
               : status;
}

int s_dl_convolve_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return convolve(params, 1, sizes, why);
}

int s_dl_convolve_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return convolve(params, 2, sizes, why);
}

static int depthwise(const qn_dl_conv *p, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t filter[] = {p->filter_h, p->filter_w, p->input_c};
    int status = windows(p, why);
    status = status == QN_OK ? few_taps((int64_t)p->filter_h * p->filter_w, why) : status;
    status = status == QN_OK ? in_range_of_chip(p->right_shift, p->rectified, p->per_channel,
                                                p->chip, element, why)
                             : status;
    return status == QN_OK
               ? fill(p, p->input_c, element, s_elements(element, filter, 3), sizes, why)
               : status;
}

int s_dl_depthwise_conv_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return depthwise(params, 1, sizes, why);
}

int s_dl_depthwise_conv_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return depthwise(params, 2, sizes, why);
}

static int dense(const qn_dl_dense *p, int64_t element, int32_t most, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"matrices", p->matrices, 1, most},
        {"batches", p->batches, 1, UINT16_MAX},
        {"input_c", p->input_c, 1, UINT16_MAX},
        {"output_c", p->output_c, 1, UINT16_MAX},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    status = status == QN_OK ? in_range_of_chip(p->right_shift, p->rectified, p->per_channel,
                                                p->chip, element, why)
                             : status;
    if (status != QN_OK) {
        return status;
    }
    const int64_t in = s_elements(element, (int32_t[]){p->matrices, p->batches, p->input_c}, 3);
    const int64_t right = s_elements(element, (int32_t[]){p->matrices, p->output_c, p->input_c}, 3);
    const int64_t out = s_elements(element, (int32_t[]){p->matrices, p->batches, p->output_c}, 3);
    if (in < 0 || right < 0 || out < 0) {
        return s_too_large(in < 0 ? "input" : right < 0 ? "filter" : "output", why);
    }
    sizes->in[0] = in * element;
    sizes->in[1] = most > 1 ? right * element : 0;
    sizes->weights = most > 1 ? 0 : right * element;
    sizes->bias = most > 1 ? 0 : p->output_c * (1 + p->per_channel) * 4 * element;
    sizes->out = out * element;
    return QN_OK;
}

int s_dl_dense_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return dense(params, 1, 1, sizes, why);
}

int s_dl_dense_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return dense(params, 2, 1, sizes, why);
}

int s_dl_matmul_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return dense(params, 1, UINT16_MAX, sizes, why);
}

int s_dl_matmul_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return dense(params, 2, UINT16_MAX, sizes, why);
}

int s_dl_split(void *params, qn_extent *extent) {
    qn_dl_conv *p = params;
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
