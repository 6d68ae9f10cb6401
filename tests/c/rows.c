/* Holds the rows of convolutions and fully connected layers against their plain rows, where there
 * is no Python to do it: on emulated processors.
 *
 *   rows [VARIANT]
 *
 * Without an argument: the models and fast rows that this host runs. With one: the fast rows of
 * that variant, whatever the host says it has. Exit code 1: a row differs, writes beside its output
 * or was never compared. */
#define _POSIX_C_SOURCE 200112L /* posix_memalign() */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qn.h"

enum { CALLS = 100, TRIES = 100000, MOST_MACS = 300000, GUARD = 64, PROFILES = 16 };

static const uint32_t SEED = 20240229;
static uint32_t state;

static uint32_t random_bits(void) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static int32_t between(int32_t low, int32_t high) {
    return low + (int32_t)(random_bits() % (uint32_t)(high - low + 1));
}

typedef union params {
    int32_t profile;
    qn_conv conv;
    qn_fc fc;
} params;

/* An output that a window of `kernel` taps reaches, and an input that is about as large. */
static void random_axis(int32_t *in, int32_t *kernel, int32_t *padding, int32_t *stride,
                        int32_t *out) {
    int one = between(0, 3) == 0; /* 1 x 1 */
    *kernel = one ? 1 : between(1, 5);
    *padding = one ? 0 : between(0, *kernel);
    *stride = one ? 1 : between(1, 3);
    *out = between(1, 20);
    int32_t fits = (*out - 1) * *stride + *kernel - 2 * *padding + between(-2, 2);
    *in = fits > 1 ? fits : 1;
}

static void random_conv(qn_conv *p, int rgb) {
    static const int32_t channels[] = {1,  2,  3,  4,  7,  8,  12, 16, 17, 18,
                                       20, 24, 31, 32, 34, 48, 64, 66, 80, 130};
    enum { CHOICES = sizeof channels / sizeof channels[0] };
    random_axis(&p->dim_im_in_x, &p->dim_kernel_x, &p->padding_x, &p->stride_x, &p->dim_im_out_x);
    random_axis(&p->dim_im_in_y, &p->dim_kernel_y, &p->padding_y, &p->stride_y, &p->dim_im_out_y);
    if (between(0, 1)) {
        p->dim_im_in_y = p->dim_im_in_x;
        p->dim_kernel_y = p->dim_kernel_x;
        p->padding_y = p->padding_x;
        p->stride_y = p->stride_x;
        p->dim_im_out_y = p->dim_im_out_x;
    }
    p->ch_im_in = rgb ? 3 : channels[between(0, CHOICES - 1)];
    p->ch_im_out = channels[between(0, CHOICES - 1)];
    p->bias_shift = between(0, 12);
    p->out_shift = between(0, 14);
}

static void random_fc(qn_fc *p) {
    p->dim_vec = between(1, 150);
    p->num_of_rows = between(1, 150);
    p->bias_shift = between(0, 12);
    p->out_shift = between(0, 14);
}

static int64_t macs(const qn_op *op, const params *p) {
    if (!strcmp(op->params, "qn_fc")) {
        return (int64_t)p->fc.dim_vec * p->fc.num_of_rows;
    }
    const qn_conv *c = &p->conv;
    return (int64_t)c->dim_im_out_x * c->dim_im_out_y * c->ch_im_out * c->ch_im_in *
           c->dim_kernel_x * c->dim_kernel_y;
}

/* Parameters of a call that the contract allows; 0 if none was found. */
static int random_call(const qn_op *op, int32_t profile, int relu, params *p, qn_sizes *sizes) {
    char why[QN_WHY];
    for (int t = 0; t < TRIES; t++) {
        memset(p, 0, sizeof *p);
        memset(sizes, 0, sizeof *sizes);
        if (!strcmp(op->params, "qn_fc")) {
            random_fc(&p->fc);
            p->fc.relu = relu;
        } else {
            random_conv(&p->conv, !strcmp(op->op, "convolve_rgb"));
            p->conv.relu = relu;
        }
        p->profile = profile;
        if (macs(op, p) <= MOST_MACS && op->check(p, sizes, why) == QN_OK) {
            return 1;
        }
    }
    return 0;
}

static void *allocate(int64_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes > 0 ? (size_t)bytes : 1)) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

/* Random, all lowest, all highest, or one value among zeros, of elements `width` bytes wide. */
static void *random_values(int64_t bytes, int width) {
    uint8_t *values = allocate(bytes);
    int kind = between(0, 5);
    for (int64_t i = 0; i < bytes; i++) {
        int top = i % width == width - 1;
        values[i] = kind == 0   ? (top ? 0x80 : 0x00)
                    : kind == 1 ? (top ? 0x7f : 0xff)
                    : kind == 2 ? 0
                                : (uint8_t)random_bits();
    }
    if (kind == 2 && bytes > 0) {
        values[between(0, (int32_t)bytes - 1)] = 0x7f;
    }
    return values;
}

/* Runs a row into out[GUARD + size + GUARD], all of which is 0xA5 before. */
static void run(const qn_kernel *row, const params *p, qn_buffers buffers, int64_t size,
                uint8_t *out) {
    void *packed = allocate(row->packed(p));
    memset(out, 0xa5, (size_t)size + 2 * GUARD);
    buffers.out = out + GUARD;
    buffers.scratch = allocate(row->scratch(p));
    buffers.packed = packed;
    if (row->pack) {
        row->pack(p, buffers.weights, buffers.bias, packed);
    }
    row->run(p, &buffers);
    free(packed);
    free(buffers.scratch);
}

/* What the rectifier leaves of the plain row's output. */
static void rectify(uint8_t *out, int64_t bytes, int width) {
    for (int64_t i = 0; i < bytes; i += width) {
        if (out[i + width - 1] & 0x80) {
            memset(out + i, 0, (size_t)width);
        }
    }
}

static int same(const qn_kernel *row, const qn_kernel *plain, const params *p, int relu,
                const qn_sizes *sizes) {
    int wide_in = strstr(row->op->type, "q15") ? 2 : 1;
    int wide_weights = strncmp(row->op->type, "q15", 3) ? 1 : 2;
    qn_buffers buffers = {.in = {random_values(sizes->in[0], wide_in), NULL},
                          .weights = random_values(sizes->weights, wide_weights),
                          .bias = random_values(sizes->bias, wide_weights)};
    uint8_t *want = allocate(sizes->out + 2 * GUARD), *got = allocate(sizes->out + 2 * GUARD);
    run(plain, p, buffers, sizes->out, want);
    if (relu) {
        rectify(want + GUARD, sizes->out, wide_in);
    }
    run(row, p, buffers, sizes->out, got);
    int equal = memcmp(want, got, (size_t)sizes->out + 2 * GUARD) == 0;
    free(buffers.in[0]);
    free((void *)buffers.weights);
    free((void *)buffers.bias);
    free(want);
    free(got);
    return equal;
}

static const qn_kernel *plain_row(const qn_op *op, int32_t profile) {
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        if (row->op == op && !strcmp(row->kind, "plain") && row->profiles >> profile & 1) {
            return row;
        }
    }
    return NULL;
}

/* Compares a row on random calls of all profiles it claims. */
static int holds(const qn_kernel *row) {
    const qn_op *op = row->op;
    int compared = 0, fast = !strcmp(row->kind, "fast");
    state = SEED;
    for (int call = 0; call < CALLS; call++) {
        int32_t profile = call % PROFILES;
        int relu = fast && between(0, 1);
        params p;
        qn_sizes sizes;
        if (!(row->profiles >> profile & 1) || !random_call(op, profile, relu, &p, &sizes) ||
            row->scratch(&p) == QN_NOT_TAKEN) {
            continue;
        }
        if (!same(row, plain_row(op, profile), &p, relu, &sizes)) {
            printf("%s_%s.%s differs from the plain row: profile %" PRId32 ", seed %" PRIu32
                   ", call %d\n",
                   op->op, op->type, row->variant, profile, SEED, call);
            return 0;
        }
        compared++;
    }
    printf("%s_%s.%s: %d calls\n", op->op, op->type, row->variant, compared);
    return compared > 0;
}

int main(int count, char **arguments) {
    const char *variant = count > 1 ? arguments[1] : NULL;
    uint32_t features = qn_cpu_features();
    int rows = 0, bad = 0;
    printf("features %" PRIu32 ", seed %" PRIu32 "\n", features, SEED);
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        int known = !strcmp(row->op->params, "qn_conv") || !strcmp(row->op->params, "qn_fc");
        int wanted = variant ? !strcmp(row->variant, variant) : !(row->cpu & ~features);
        if (known && wanted && strcmp(row->kind, "plain") != 0) {
            rows++;
            bad += !holds(row);
        }
    }
    printf("%d rows, %d of them wrong\n", rows, bad);
    return rows == 0 || bad > 0;
}
