/* Powers and remainders of ESP-DL, plain. */
#include "floats.h"

static int powers(const qn_dl_powers *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"input1_exponent", p->input1_exponent, -30, 30},
        {"input2_exponent", p->input2_exponent, -30, 30},
        {"output_exponent", p->output_exponent, -30, 30},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    sizes->in[0] = sizes->in[1] = sizes->out = p->block_size * element;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_powers_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return powers(params, 1, sizes, why);
}

int s_dl_powers_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return powers(params, 2, sizes, why);
}

static float remainder_of(float a, float b) { return b == 0 ? 0 : qn_fmod_f32(a, b); }

static int each(const qn_dl_powers *p, const qn_buffers *b, float (*of)(float, float),
                int is_wide) {
    const float first = s_dl_power(p->input1_exponent), second = s_dl_power(p->input2_exponent);
    const float scale = s_dl_power(-p->output_exponent);
    for (int32_t i = 0; i < p->block_size; i++) {
        const float x = s_dl_mul((float)s_dl_at(b->in[0], i, is_wide), first);
        const float y = s_dl_mul((float)s_dl_at(b->in[1], i, is_wide), second);
        s_dl_put(b->out, i, s_dl_round(s_dl_mul(of(x, y), scale), p->chip), is_wide);
    }
    return QN_OK;
}

int s_dl_pow_s8_ref(const void *params, const qn_buffers *b) {
    return each(params, b, qn_pow_f32, 0);
}

int s_dl_pow_s16_ref(const void *params, const qn_buffers *b) {
    return each(params, b, qn_pow_f32, 1);
}

int s_dl_mod_s8_ref(const void *params, const qn_buffers *b) {
    return each(params, b, remainder_of, 0);
}

int s_dl_mod_s16_ref(const void *params, const qn_buffers *b) {
    return each(params, b, remainder_of, 1);
}
