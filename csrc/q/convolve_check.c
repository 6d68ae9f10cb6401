/* The contracts of the convolutions. */
#include "convolve.h"

/* Check the requirements of every convolution. The DSP path passes the row length as a uint16_t. */
static int check(const qn_conv *p, int64_t element, qn_sizes *sizes, char *why) {
    int status = q_window_check(p, p->ch_im_out, p->ch_im_in, element, sizes, why);
    if (status == QN_OK && qn_is_dsp(p->profile) && q_convolve_row(p) > UINT16_MAX) {
        return qn_deny(
            why, QN_REFUSED,
            "ch_im_in * dim_kernel_x * dim_kernel_y must be at most 65535 on a core with "
            "the DSP extension, is %ld",
            (long)q_convolve_row(p));
    }
    return status;
}

static int square(const qn_conv *p, const char *function, const char *instead, char *why) {
    if (p->dim_im_in_x != p->dim_im_in_y || p->dim_kernel_x != p->dim_kernel_y ||
        p->padding_x != p->padding_y || p->stride_x != p->stride_y ||
        p->dim_im_out_x != p->dim_im_out_y) {
        return qn_deny(why, QN_REFUSED, "%s requires square shapes; use %s", function, instead);
    }
    return QN_OK;
}

static int multiple(const char *name, int32_t value, int32_t of, const char *instead, char *why) {
    if (value % of != 0) {
        return qn_deny(why, QN_SIZE_MISMATCH, "%s must be a multiple of %ld, is %ld; use %s", name,
                       (long)of, (long)value, instead);
    }
    return QN_OK;
}

static int fast_channels(const qn_conv *p, int32_t of, const char *instead, char *why) {
    int status = multiple("ch_im_in", p->ch_im_in, of, instead, why);
    return status == QN_OK ? multiple("ch_im_out", p->ch_im_out, 2, instead, why) : status;
}

static int refuse_read_after(int32_t y, int32_t x, const char *instead, char *why) {
    return qn_deny(why, QN_REFUSED,
                   "on a core with the DSP extension this geometry reads after Im_in (output pixel "
                   "y %ld, x %ld); use %s",
                   (long)y, (long)x, instead);
}

/* The unchecked windows of q_window_fast extend furthest in the last row that does not check ky.
 * Coordinates stay below 2^15 on the DSP path, so the index of any pixel fits. */
static int fast_reads(const qn_conv *p, const char *instead, char *why) {
    if (p->padding_x > p->dim_im_out_x || p->padding_y > p->dim_im_out_y) {
        return qn_deny(why, QN_REFUSED,
                       "on a core with the DSP extension a padding above dim_im_out writes after "
                       "Im_out; use %s",
                       instead);
    }
    int32_t pixels = p->dim_im_in_y * p->dim_im_in_x;
    int32_t y = p->dim_im_out_y - p->padding_y - 1;
    for (int32_t x = 0; y >= p->padding_y && x < p->dim_im_out_x; x++) {
        q_window w = q_window_fast(p, y, x);
        if (!q_window_is_empty(w) && q_window_pixel(p, w, w.ky1 - 1, w.kx1 - 1) >= pixels) {
            return refuse_read_after(y, x, instead, why);
        }
    }
    return QN_OK;
}

int q_convolve_q7_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, sizes, why);
}

int q_convolve_rgb_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    int status = check(p, 1, sizes, why);
    if (status == QN_OK) {
        status = square(p, "arm_convolve_HWC_q7_RGB", "arm_convolve_HWC_q7_basic_nonsquare", why);
    }
    if (status == QN_OK && p->ch_im_in != 3) {
        return qn_deny(why, QN_SIZE_MISMATCH,
                       "ch_im_in must be 3, is %ld; use arm_convolve_HWC_q7_basic",
                       (long)p->ch_im_in);
    }
    return status;
}

int q_convolve_fast_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    const char *instead = "arm_convolve_HWC_q7_basic";
    int status = check(p, 1, sizes, why);
    if (status == QN_OK) {
        status = square(p, "arm_convolve_HWC_q7_fast", "arm_convolve_HWC_q7_fast_nonsquare", why);
    }
    if (status == QN_OK) {
        status = fast_channels(p, 4, instead, why);
    }
    return status == QN_OK && qn_is_dsp(p->profile) ? fast_reads(p, instead, why) : status;
}

int q_convolve_fast_nonsquare_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    const char *instead = "arm_convolve_HWC_q7_basic_nonsquare";
    int status = check(p, 1, sizes, why);
    if (status == QN_OK) {
        status = fast_channels(p, 4, instead, why);
    }
    return status == QN_OK && qn_is_dsp(p->profile) ? fast_reads(p, instead, why) : status;
}

int q_convolve_1x1_fast_q7_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    const char *instead = "arm_convolve_HWC_q7_fast_nonsquare";
    int status = check(p, 1, sizes, why);
    if (status == QN_OK) {
        status = fast_channels(p, 4, "arm_convolve_HWC_q7_basic_nonsquare", why);
    }
    if (status == QN_OK && (p->dim_kernel_x != 1 || p->dim_kernel_y != 1 || p->padding_x != 0 ||
                            p->padding_y != 0 || p->stride_x != 1 || p->stride_y != 1)) {
        return qn_deny(why, QN_SIZE_MISMATCH,
                       "kernel, padding and stride must be 1 x 1, 0 and 1; use %s", instead);
    }
    if (status == QN_OK && qn_is_dsp(p->profile)) {
        q_window last = q_window_whole(p, p->dim_im_out_y - 1, p->dim_im_out_x - 1);
        if (q_window_pixel(p, last, 0, 0) >= p->dim_im_in_y * p->dim_im_in_x) {
            return refuse_read_after(last.y, last.x, "arm_convolve_HWC_q7_basic_nonsquare", why);
        }
    }
    return status;
}

int q_convolve_q15_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, 2, sizes, why);
    return status == QN_OK ? square(params, "arm_convolve_HWC_q15_basic",
                                    "arm_convolve_HWC_q15_fast_nonsquare", why)
                           : status;
}

int q_convolve_fast_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    const char *instead = "arm_convolve_HWC_q15_basic";
    int status = check(p, 2, sizes, why);
    if (status == QN_OK) {
        status = square(p, "arm_convolve_HWC_q15_fast", "arm_convolve_HWC_q15_fast_nonsquare", why);
    }
    if (status == QN_OK) {
        status = fast_channels(p, 2, instead, why);
    }
    if (status == QN_OK && qn_is_dsp(p->profile) && p->dim_im_out_x % 2 != 0) {
        int is_560 = qn_release(p->profile) == QN_RELEASE_560;
        return qn_deny(why, is_560 ? QN_REFUSED : QN_SIZE_MISMATCH,
                       "dim_im_out must be even on a core with the DSP extension, is %ld%s; use %s",
                       (long)p->dim_im_out_x,
                       is_560 ? " (5.6.0 would write pixels to wrong places)" : "", instead);
    }
    return status;
}

int q_convolve_fast_nonsquare_q15_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_conv *p = params;
    const char *instead = "arm_convolve_HWC_q15_basic";
    int status = check(p, 2, sizes, why);
    if (status == QN_OK) {
        status = fast_channels(p, 2, instead, why);
    }
    if (status == QN_OK && qn_is_dsp(p->profile) && p->dim_im_out_x % 2 != 0) {
        return qn_deny(why, QN_REFUSED,
                       "dim_im_out_x must be even on a core with the DSP extension, is %ld: the "
                       "device would write pixels to wrong places; use %s on a square image",
                       (long)p->dim_im_out_x, instead);
    }
    return status;
}

int q_conv_split(void *params, qn_extent *extent) {
    qn_conv *p = params;
    *extent = (qn_extent){
        .y = {&p->dim_im_in_y, &p->dim_im_out_y, &p->padding_y, p->dim_kernel_y, p->stride_y, 1},
        .x = {&p->dim_im_in_x, &p->dim_im_out_x, &p->padding_x, p->dim_kernel_x, p->stride_x, 1},
        .step = 1,
    };
    return QN_OK;
}
