/* Compares rows with plain rows on calls that a fuzzer chooses. The fuzzer's bytes are the number
 * of a row, the profile, the parameters and the values. After the last byte numbers are random.
 * Aborts at a difference.
 *
 * A fuzz target of libFuzzer, to be linked with the C core. */
#include "compare.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fast row or model that this host runs; NULL: the number is of another row. */
static const qn_kernel *row_of(uint32_t number) {
    const qn_kernel *row = qn_kernel_at((int)(number % (uint32_t)qn_kernel_count()));
    const int runs = !(row->cpu & ~qn_cpu_features()) && strcmp(row->kind, "plain") != 0;
    return runs && draw_of(row->op) ? row : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    given = data;
    given_end = data + size;
    state = 1;
    const qn_kernel *row = row_of(given_bits(2));
    if (!row) {
        return -1; /* of no use as a start of other inputs */
    }
    const int relu = !strcmp(row->kind, "fast") && takes_relu(row->op) && between(0, 1);
    const int32_t profile = next_profile(row, between(0, 8 * QN_RELEASE_600 + 7));
    params p;
    qn_sizes sizes;
    if (!random_call(row, profile, relu, &p, &sizes)) {
        return -1;
    }
    if (!same(row, plain_row(row->op, profile), &p, relu, &sizes)) {
        fprintf(stderr, "%s_%s.%s differs from the plain row: profile %" PRId32 "\n", row->op->op,
                row->op->type, row->variant, profile);
        abort();
    }
    return 0;
}
