/* Compares rows with their plain rows where there is no Python: on emulated processors.
 *
 *   rows [VARIANT [CALLS [SEED]]]
 *
 * Without a variant, or with "": the models and fast rows that this host runs. With one: the rows
 * of that variant, whatever the host says it has. Each row runs so many calls, and its profiles
 * take turns. Arrays end where their memory ends, so sanitizers see what reads or writes after
 * them. They start with bytes of 0xA5, not zeros.
 * Exit code 1: a row differs, writes next to its output or to its input, or was never compared. */
#include "compare.h"

#include <inttypes.h>

enum { CALLS = 50, SEED = 20240229 };

/* Compares a row on random calls of all profiles it claims. */
static int holds(const qn_kernel *row, int calls, uint32_t seed) {
    const qn_op *op = row->op;
    int compared = 0, fast = !strcmp(row->kind, "fast");
    int32_t profile = 0;
    state = seed ? seed : SEED; /* 0 is all that follows a 0 */
    for (int call = 0; call < calls; call++) {
        const int relu = fast && takes_relu(op) && between(0, 1);
        params p;
        qn_sizes sizes;
        profile = next_profile(row, profile);
        if (!random_call(row, profile, relu, &p, &sizes)) {
            continue;
        }
        if (!same(row, plain_row(op, profile), &p, relu, &sizes)) {
            printf("%s_%s.%s differs from the plain row: profile %" PRId32 ", seed %" PRIu32
                   ", call %d\n",
                   op->op, op->type, row->variant, profile, seed, call);
            return 0;
        }
        compared++;
    }
    printf("%s_%s.%s: %d calls\n", op->op, op->type, row->variant, compared);
    return compared > 0;
}

int main(int count, char **arguments) {
    const char *variant = count > 1 && arguments[1][0] ? arguments[1] : NULL;
    const int calls = count > 2 ? atoi(arguments[2]) : CALLS;
    const uint32_t seed = count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 10) : SEED;
    uint32_t features = qn_cpu_features();
    int rows = 0, bad = 0;
    printf("features %" PRIu32 ", seed %" PRIu32 "\n", features, seed);
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        int wanted = variant ? !strcmp(row->variant, variant) : !(row->cpu & ~features);
        if (draw_of(row->op) && wanted && strcmp(row->kind, "plain") != 0) {
            rows++;
            bad += !holds(row, calls, seed);
        }
    }
    printf("%d rows, %d of them wrong\n", rows, bad);
    return rows == 0 || bad > 0;
}
