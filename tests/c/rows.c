/* Holds the rows of convolutions and fully connected layers against their plain rows, where there
 * is no Python to do it: on emulated processors.
 *
 *   rows [VARIANT [CALLS]]
 *
 * Without an argument: the models and fast rows that this host runs. With one: the fast rows of
 * that variant, whatever the host says it has; each on so many calls, from which its profiles take
 * turns. Exit code 1: a row differs, writes beside its output or was never compared. */
#include "calls.h"

enum { CALLS = 200, GUARD = 64, PROFILES = 32 };

/* Runs a row into out[GUARD + size + GUARD], all of which is 0xA5 before. */
static void run(const qn_kernel *row, const params *p, qn_buffers buffers, int64_t size,
                uint8_t *out) {
    void *packed = allocate(row->packed(p));
    memset(out, 0xa5, (size_t)size + 2 * GUARD);
    buffers.out = out + GUARD;
    buffers.scratch = allocate(row->scratch(p));
    memset(buffers.scratch, 0xa5, (size_t)row->scratch(p));
    buffers.packed = packed;
    if (row->pack) {
        row->pack(p, buffers.weights, buffers.bias, packed);
    }
    row->run(p, &buffers);
    release(packed);
    release(buffers.scratch);
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
                          .bias = random_bias(row->op, sizes->bias, wide_weights)};
    uint8_t *want = allocate(sizes->out + 2 * GUARD), *got = allocate(sizes->out + 2 * GUARD);
    run(plain, p, buffers, sizes->out, want);
    if (relu) {
        rectify(want + GUARD, sizes->out, wide_in);
    }
    run(row, p, buffers, sizes->out, got);
    int equal = memcmp(want, got, (size_t)sizes->out + 2 * GUARD) == 0;
    release(buffers.in[0]);
    release(buffers.weights);
    release(buffers.bias);
    release(want);
    release(got);
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
static int holds(const qn_kernel *row, int calls) {
    const qn_op *op = row->op;
    int compared = 0, fast = !strcmp(row->kind, "fast");
    state = SEED;
    for (int call = 0; call < calls; call++) {
        int32_t profile = call % PROFILES;
        int relu = fast && takes_relu(op) && between(0, 1);
        params p;
        qn_sizes sizes;
        if (!(row->profiles >> profile & 1) || !random_call(row, profile, relu, &p, &sizes)) {
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
    const int calls = count > 2 ? atoi(arguments[2]) : CALLS;
    uint32_t features = qn_cpu_features();
    int rows = 0, bad = 0;
    printf("features %" PRIu32 ", seed %" PRIu32 "\n", features, SEED);
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        int wanted = variant ? !strcmp(row->variant, variant) : !(row->cpu & ~features);
        if (is_known(row->op) && wanted && strcmp(row->kind, "plain") != 0) {
            rows++;
            bad += !holds(row, calls);
        }
    }
    printf("%d rows, %d of them wrong\n", rows, bad);
    return rows == 0 || bad > 0;
}
