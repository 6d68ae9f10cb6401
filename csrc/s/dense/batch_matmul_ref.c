/* Products of matrices of the s8 and s16 API, plain. */
#include "batch_matmul.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static int shapes(const qn_s_bmm *p, char *why) {
    const s_range all[] = {
        {"lhs_n", p->lhs_n, 1, UINT16_MAX}, {"lhs_h", p->lhs_h, 1, UINT16_MAX},
        {"lhs_w", p->lhs_w, 1, UINT16_MAX}, {"lhs_c", p->lhs_c, 1, UINT16_MAX},
        {"rhs_n", p->rhs_n, 1, UINT16_MAX}, {"rhs_h", p->rhs_h, 1, UINT16_MAX},
        {"rhs_w", p->rhs_w, 1, UINT16_MAX}, {"rhs_c", p->rhs_c, p->lhs_c, p->lhs_c},
        {"adj_x", p->adj_x, 0, 1},          {"adj_y", p->adj_y, 0, 1},
    };
    const int32_t pairs[2][2] = {{p->lhs_n, p->rhs_n}, {p->lhs_h, p->rhs_h}};
    for (int i = 0; i < 2; i++) {
        int32_t l = pairs[i][0], r = pairs[i][1];
        if (l != r && l != 1 && r != 1) {
            return qn_deny(why, QN_REFUSED,
                           "lhs_%c and rhs_%c must be equal or one of them 1, are %ld and %ld",
                           "nh"[i], "nh"[i], (long)l, (long)r);
        }
    }
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* element: bytes of one; shift: the most that is legal. */
static int check(const qn_s_bmm *p, int64_t element, int32_t shift, qn_sizes *sizes, char *why) {
    const int wide = element == 2;
    const int32_t low = wide ? INT16_MIN : INT8_MIN, high = wide ? INT16_MAX : INT8_MAX;
    const s_range all[] = {
        {"lhs_offset", wide ? 0 : p->lhs_offset, -127, 128},
        {"rhs_offset", wide ? 0 : p->rhs_offset, -127, 128},
        {"output_offset", wide ? 0 : p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"act_min", p->act_min, low, high},
        {"act_max", p->act_max, p->act_min, high},
        {"multiplier", p->multiplier, 0, INT32_MAX},
        {"shift", p->shift, -31, shift},
    };
    int status = shapes(p, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    if (status != QN_OK) {
        return status;
    }
    const int32_t n = larger(p->lhs_n, p->rhs_n), h = larger(p->lhs_h, p->rhs_h);
    int64_t lhs = s_elements(element, (int32_t[]){p->lhs_n, p->lhs_h, p->lhs_w, p->lhs_c}, 4);
    int64_t rhs = s_elements(element, (int32_t[]){p->rhs_n, p->rhs_h, p->rhs_w, p->rhs_c}, 4);
    int64_t out = s_elements(element, (int32_t[]){n, h, p->lhs_w, p->rhs_w}, 4);
    if (lhs < 0 || rhs < 0 || out < 0) {
        return s_too_large(lhs < 0 ? "left operand" : rhs < 0 ? "right operand" : "output", why);
    }
    sizes->in[0] = lhs * element;
    sizes->in[1] = rhs * element;
    sizes->out = out * element;
    return QN_OK;
}

int s_batch_matmul_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 1, 30, sizes, why);
}

int s_batch_matmul_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, 2, 7, sizes, why);
}

/* Elements before the matrices that make the i-th matrix of the output. */
typedef struct starts {
    int64_t lhs, rhs, out;
} starts;

static starts starts_of(const qn_s_bmm *p, int64_t i) {
    const int64_t heights = larger(p->lhs_h, p->rhs_h), n = i / heights, h = i % heights;
    int64_t lhs = (p->lhs_n == 1 ? 0 : n) * p->lhs_h + (p->lhs_h == 1 ? 0 : h);
    int64_t rhs = (p->rhs_n == 1 ? 0 : n) * p->rhs_h + (p->rhs_h == 1 ? 0 : h);
    return (starts){lhs * p->lhs_w * p->lhs_c, rhs * p->rhs_w * p->rhs_c, i * p->lhs_w * p->rhs_w};
}

static int64_t matrices(const qn_s_bmm *p) {
    return (int64_t)larger(p->lhs_n, p->rhs_n) * larger(p->lhs_h, p->rhs_h);
}

static int32_t sum_s8(const qn_s_bmm *p, const int8_t *lhs, const int8_t *rhs) {
    uint32_t acc = 0;
    for (int32_t c = 0; c < p->lhs_c; c++) {
        acc += (uint32_t)((lhs[c] + p->lhs_offset) * (rhs[c] + p->rhs_offset));
    }
    return qn_wrap32(acc);
}

int s_batch_matmul_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_bmm *p = params;
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    const int32_t lanes = p->rhs_w - p->rhs_w % 4;
    for (int64_t i = 0; i < matrices(p); i++) {
        const starts at = starts_of(p, i);
        const int8_t *lhs = (const int8_t *)b->in[0] + at.lhs;
        int8_t *out = (int8_t *)b->out + at.out;
        for (int32_t y = 0; y < p->lhs_w; y++, lhs += p->lhs_c) {
            const int8_t *rhs = (const int8_t *)b->in[1] + at.rhs;
            for (int32_t x = 0; x < p->rhs_w; x++, rhs += p->rhs_c) {
                int32_t acc = sum_s8(p, lhs, rhs);
                *out++ = (int8_t)s_output_lane(&epilogue, acc, p->multiplier, p->shift, x < lanes);
            }
        }
    }
    return QN_OK;
}

/* At most 65535 * 2^30. */
static int64_t sum_s16(const qn_s_bmm *p, const int16_t *lhs, const int16_t *rhs) {
    int64_t acc = 0;
    for (int32_t c = 0; c < p->lhs_c; c++) {
        acc += lhs[c] * rhs[c];
    }
    return acc;
}

int s_batch_matmul_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_bmm *p = params;
    const s_epilogue epilogue = {p->profile, 0, p->act_min, p->act_max};
    for (int64_t i = 0; i < matrices(p); i++) {
        const starts at = starts_of(p, i);
        const int16_t *lhs = (const int16_t *)b->in[0] + at.lhs;
        int16_t *out = (int16_t *)b->out + at.out;
        for (int32_t y = 0; y < p->lhs_w; y++, lhs += p->lhs_c) {
            const int16_t *rhs = (const int16_t *)b->in[1] + at.rhs;
            for (int32_t x = 0; x < p->rhs_w; x++, rhs += p->rhs_c) {
                int64_t acc = sum_s16(p, lhs, rhs);
                *out++ = (int16_t)s_output64(&epilogue, acc, p->multiplier, p->shift);
            }
        }
    }
    return QN_OK;
}
