/* Sums, differences and products of two s8 vectors in plain C. What becomes of the 256 values of
 * either side of a sum, before the two meet, is a table, made once, at plan time. */
#include "elementwise.h"
#include "uniform.h"

enum { ENTRIES = 256 };

/* sign: 1 of a sum, -1 of a difference. */
static void pack_sides(const qn_s_add *p, int32_t sign, int32_t *tables) {
    for (int32_t i = 0; i < ENTRIES; i++) {
        const int32_t x = (int8_t)i + p->input_1_offset, y = (int8_t)i + p->input_2_offset;
        const int32_t right = qn_requantize(p->profile, qn_wrap32(qn_shl(y, p->left_shift)),
                                            p->input_2_mult, p->input_2_shift);
        tables[i] = qn_requantize(p->profile, qn_wrap32(qn_shl(x, p->left_shift)), p->input_1_mult,
                                  p->input_1_shift);
        tables[ENTRIES + i] = sign > 0 ? right : qn_sub32(0, right);
    }
}

static inline int32_t requantized(const s_uniform *u, int32_t x) {
    const int32_t a = qn_wrap32(qn_shl(x, u->left));
    const int32_t t = (int32_t)qn_asr64((int64_t)a * u->multiplier + u->add, 32);
    return qn_asr(t - (t < u->nudge), u->right);
}

static int sides_run(const void *params, const qn_buffers *b) {
    const qn_s_add *p = params;
    const s_uniform last = s_uniform_of(p->out_mult, 0, p->out_shift);
    const uint8_t *x = b->in[0], *y = b->in[1];
    const int32_t *of_x = b->packed, *of_y = of_x + ENTRIES;
    const int32_t offset = p->out_offset, low = p->act_min, high = p->act_max;
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        const int32_t value = requantized(&last, qn_add32(of_x[x[i]], of_y[y[i]]));
        out[i] = (int8_t)qn_clamp(qn_add32(value, offset), low, high);
    }
    return QN_OK;
}

static int64_t sides_packed(const void *params) {
    (void)params;
    return 2 * ENTRIES * (int64_t)sizeof(int32_t);
}

static int64_t add_s8_scratch(const void *params) {
    return s_add_is_usual(params) ? 0 : QN_NOT_TAKEN;
}

static void add_s8_pack(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    pack_sides(params, 1, packed);
}

const qn_functions s_elementwise_add_s8_portable = {sides_run, add_s8_scratch, sides_packed,
                                                    add_s8_pack, qn_always_pays};

static int64_t sub_s8_scratch(const void *params) {
    return qn_rounding(((const qn_s_add *)params)->profile) == QN_DOUBLE ? 0 : QN_NOT_TAKEN;
}

static void sub_s8_pack(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    pack_sides(params, -1, packed);
}

const qn_functions s_elementwise_sub_s8_portable = {sides_run, sub_s8_scratch, sides_packed,
                                                    sub_s8_pack, qn_always_pays};

int s_elementwise_mul_s8_portable(const void *params, const qn_buffers *b) {
    const qn_s_mul *p = params;
    const s_uniform last = s_uniform_of(p->out_mult, 0, p->out_shift);
    const int32_t offset = p->out_offset, low = p->act_min, high = p->act_max;
    const int8_t *x = b->in[0], *y = b->in[1];
    int8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        const int32_t product = (x[i] + p->input_1_offset) * (y[i] + p->input_2_offset);
        out[i] = (int8_t)qn_clamp(qn_add32(requantized(&last, product), offset), low, high);
    }
    return QN_OK;
}

int64_t s_elementwise_mul_s8_portable_scratch(const void *params) {
    return s_mul_is_usual(params) ? 0 : QN_NOT_TAKEN;
}
