/* Compares one call of a row with its plain row. Arrays end where their memory ends, so sanitizers
 * see what reads or writes after them. */
#ifndef COMPARE_H
#define COMPARE_H

#include "calls.h"
#include "claims.h"

enum { GUARD = 64 };

/* The arrays that a call reads. in[i] starts `beside` bytes after a multiple of 64, the output
 * `beside` bytes rounded down to a multiple of four. */
typedef struct arrays {
    uint8_t *in[QN_INPUTS], *weights;
    void *bias;
    int32_t beside;
} arrays;

static arrays random_arrays(const qn_op *op, const params *p, const qn_sizes *sizes) {
    const int wide_in = strstr(op->type, "q15") || !strncmp(op->type, "s16", 3) ? 2 : 1;
    const int is_npu = !strcmp(op->arithmetic, "n");
    const int wide_weights = !strncmp(op->type, "q15", 3) || (is_npu && wide_in == 2) ? 2 : 1;
    arrays a = {.beside = one_in(3) ? wide_in * between(1, 31) : 0};
    for (int i = 0; i < QN_INPUTS; i++) {
        a.in[i] = random_values(sizes->in[i], wide_in, a.beside);
    }
    a.weights = random_values(sizes->weights, wide_weights, 0);
    a.bias = random_bias(op, p, sizes->bias);
    return a;
}

static void release_arrays(const arrays *a) {
    for (int i = 0; i < QN_INPUTS; i++) {
        release(a->in[i] - a->beside);
    }
    release(a->weights);
    release(a->bias);
}

/* Runs a row on copies of its inputs into out[GUARD + size + GUARD], all of which is 0xA5 before.
 * Returns 1 if the inputs are unchanged. */
static int run(const qn_kernel *row, const params *p, const arrays *a, const qn_sizes *sizes,
               uint8_t *out) {
    void *packed = allocate(row->functions->packed(p)),
         *scratch = allocate(row->functions->scratch(p));
    qn_buffers buffers = {.weights = a->weights,
                          .bias = a->bias,
                          .out = out + GUARD + a->beside / 4 * 4,
                          .scratch = scratch,
                          .packed = packed};
    int intact = 1;
    memset(out, 0xa5, (size_t)(sizes->out + a->beside) + 2 * GUARD);
    memset(scratch, 0xa5, (size_t)row->functions->scratch(p));
    memset(packed, 0xa5, (size_t)row->functions->packed(p));
    for (int i = 0; i < QN_INPUTS; i++) {
        uint8_t *copy = allocate(sizes->in[i] + a->beside);
        memcpy(copy + a->beside, a->in[i], (size_t)sizes->in[i]);
        buffers.in[i] = copy + a->beside;
    }
    if (row->functions->pack) {
        row->functions->pack(p, buffers.weights, buffers.bias, packed);
    }
    row->functions->run(p, &buffers);
    for (int i = 0; i < QN_INPUTS; i++) {
        intact &= !memcmp(buffers.in[i], a->in[i], (size_t)sizes->in[i]);
        release((uint8_t *)buffers.in[i] - a->beside);
    }
    release(packed);
    release(scratch);
    return intact;
}

/* Applies the rectifier to the plain row's output. */
static void rectify(uint8_t *out, int64_t bytes, int width) {
    for (int64_t i = 0; i < bytes; i += width) {
        if (out[i + width - 1] & 0x80) {
            memset(out + i, 0, (size_t)width);
        }
    }
}

static int same(const qn_kernel *row, const qn_kernel *plain, const params *p, int relu,
                const qn_sizes *sizes) {
    const arrays a = random_arrays(row->op, p, sizes);
    const int64_t bytes = sizes->out + a.beside + 2 * GUARD;
    uint8_t *want = allocate(bytes), *got = allocate(bytes);
    run(plain, p, &a, sizes, want);
    if (relu) {
        rectify(want + GUARD + a.beside / 4 * 4, sizes->out, strstr(row->op->type, "q15") ? 2 : 1);
    }
    const int intact = run(row, p, &a, sizes, got) || strcmp(row->kind, "fast") != 0;
    const int equal = memcmp(want, got, (size_t)bytes) == 0;
    release_arrays(&a);
    release(want);
    release(got);
    return equal && intact;
}

static const qn_kernel *plain_row(const qn_op *op, int32_t profile) {
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        if (row->op == op && !strcmp(row->kind, "plain") && claims_profile(row, profile)) {
            return row;
        }
    }
    return NULL;
}

/* Returns the next profile after this one that the row claims, cyclically. */
static int32_t next_profile(const qn_kernel *row, int32_t profile) {
    do {
        profile = profile == QN_PROFILE_NPU           ? 0
                  : profile == 8 * QN_RELEASE_600 + 7 ? QN_PROFILE_NPU
                                                      : profile + 1;
    } while (!claims_profile(row, profile));
    return profile;
}

#endif
