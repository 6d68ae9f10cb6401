/* Product of two tensors of ESP-NN on an ESP32-S3, plain (esp_nn_mul_elementwise_s8).
 *
 *   out[i] = clamp(scaled((in1[i] + input_1_offset) * (in2[i] + input_2_offset)) + out_offset,
 *                  act_min, act_max)
 *
 * With inputs at multiples of 16 bytes, the first block_size / 8 * 8 elements are requantized as by
 * CMSIS-NN. All others are not: with left = max(out_shift, 0) and r = left - out_shift,
 *
 *   h = (x * 2^left modulo 2^32) * out_mult + nudge >> 31,  scaled = (h + (h < 0) + 2^(r - 1)) >> r
 *
 * and h itself for r = 0. nudge is 2^30 after a vector of 8 elements, and r where there is none:
 * a load that comes after the branch to these elements.
 * Example: h = -6 and r = 2 give -1, not -2.
 *
 * Ranges: block_size as int32, offsets -127..128, out_mult not negative, out_shift -31..30,
 * input_align 0..15, act_min <= act_max. In place: yes. Scratch: none. */
#include "../affine.h"
#include "kernels.h"

int s_esp_mul_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_esp_mul *p = params;
    const s_range all[] = {
        {"block_size", p->block_size, 0, INT32_MAX},
        {"input_1_offset", p->input_1_offset, -127, 128},
        {"input_2_offset", p->input_2_offset, -127, 128},
        {"out_offset", p->out_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"out_mult", p->out_mult, 0, INT32_MAX},
        {"out_shift", p->out_shift, -31, 30},
        {"act_min", p->act_min, INT8_MIN, INT8_MAX},
        {"act_max", p->act_max, p->act_min, INT8_MAX},
        {"input_align", p->input_align, 0, 15},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size;
    sizes->in_place = 1;
    return QN_OK;
}

/* An element outside of the vectors. */
static int32_t scaled(const qn_s_esp_mul *p, int32_t x, int32_t nudge) {
    const int left = p->out_shift > 0 ? p->out_shift : 0, right = left - p->out_shift;
    const int64_t product = (int64_t)qn_wrap32(qn_shl(x, left)) * p->out_mult;
    const int32_t high = qn_wrap32((uint32_t)qn_asr64(product + nudge, 31));
    if (right == 0) {
        return high;
    }
    int32_t half = qn_wrap32(qn_shl(1, right - 1));
    return qn_asr(qn_add32(qn_add32(high, high < 0), half), right);
}

int s_esp_mul_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_esp_mul *p = params;
    const int8_t *x = b->in[0], *y = b->in[1];
    const int32_t vectors = p->input_align == 0 ? p->block_size / 8 * 8 : 0;
    const int32_t right = p->out_shift < 0 ? -p->out_shift : 0;
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        int32_t product = (x[i] + p->input_1_offset) * (y[i] + p->input_2_offset);
        int32_t value = i < vectors ? qn_requantize_double(product, p->out_mult, p->out_shift)
                                    : scaled(p, product, vectors > 0 ? 1 << 30 : right);
        out[i] = (int8_t)qn_clamp(qn_add32(value, p->out_offset), p->act_min, p->act_max);
    }
    return QN_OK;
}
