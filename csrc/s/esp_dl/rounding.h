/* The last step of calls of ESP-DL: integers and floats rounded into the output's type.
 *
 *   R(v) = floor(v + 1/2)   portable C and ESP32-S3
 *   R(v) = v rounded to nearest, halves to even   ESP32-P4 */
#ifndef QN_S_ESP_DL_ROUNDING_H
#define QN_S_ESP_DL_ROUNDING_H

#include "../affine.h"
#include "kernels.h"

/* R(x / 2^shift), saturated to 32 bits; -31 <= shift <= 62. */
static inline int64_t s_dl_shift(int64_t x, int shift, int32_t chip) {
    if (shift <= 0) {
        int64_t near = qn_clamp64(x, INT32_MIN, INT32_MAX);
        return qn_clamp64(near * (INT64_C(1) << -shift), INT32_MIN, INT32_MAX);
    }
    const int64_t below = qn_asr64(x, shift), half = INT64_C(1) << (shift - 1);
    const int64_t rest = x - below * (INT64_C(1) << shift);
    const int odd = (int)(below & 1), up = chip == QN_DL_P4 ? rest + odd > half : rest >= half;
    return qn_clamp64(below + up, INT32_MIN, INT32_MAX);
}

/* The same of an output of a layer: at least 0 where the activation is fused. */
static inline int64_t s_dl_output(int64_t x, int shift, int32_t rectified, int32_t chip) {
    int64_t result = s_dl_shift(x, shift, chip);
    return rectified && result < 0 ? 0 : result;
}

static inline int8_t s_dl_sat8(int64_t x) { return (int8_t)qn_clamp64(x, INT8_MIN, INT8_MAX); }
static inline int64_t s_dl_wrap8(int64_t x) { return ((x & 0xff) ^ 0x80) - 0x80; }
static inline int16_t s_dl_sat16(int64_t x) { return (int16_t)qn_clamp64(x, INT16_MIN, INT16_MAX); }

/* Element `index` of 16 bits if is_wide, else of 8; and the same saturated and stored. */
static inline int64_t s_dl_at(const void *elements, int64_t index, int is_wide) {
    return is_wide ? ((const int16_t *)elements)[index] : ((const int8_t *)elements)[index];
}

static inline void s_dl_put(void *out, int64_t index, int64_t value, int is_wide) {
    if (is_wide) {
        ((int16_t *)out)[index] = s_dl_sat16(value);
    } else {
        ((int8_t *)out)[index] = s_dl_sat8(value);
    }
}

#endif
