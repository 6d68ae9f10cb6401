/* Runs the rows of this host on calls that qemu_nn.testing.call_file has written, and compares what
 * they compute with the outputs in the file.
 *
 *   replay FILE
 *
 * Exit code 1: an output differs, or a row wrote next to it, or no row ran. */
#include "memory.h"

#include "claims.h"

#include "../../csrc/include/qn.h"

#include <inttypes.h>
#include <string.h>

enum { GUARD = 64, PARTS = 6 };

/* params: the struct's bytes; parts: three inputs, weights, bias and the output, of no bytes where
 * a call has none. */
typedef struct header {
    char op[32], type[16];
    int64_t profile, seed, params;
    int64_t parts[PARTS];
} header;

static uint8_t *read_bytes(FILE *file, int64_t size) {
    uint8_t *bytes = allocate(size);
    if (size > 0 && fread(bytes, (size_t)size, 1, file) != 1) {
        fprintf(stderr, "the file ends within a call\n");
        exit(2);
    }
    return bytes;
}

/* Returns 0 if a row's output differs from `want` or a byte next to it has changed. */
static int agrees(const qn_kernel *row, const header *h, const void *params, uint8_t *const *parts,
                  const uint8_t *want) {
    const int64_t size = h->parts[PARTS - 1];
    uint8_t *out = allocate(size + 2 * GUARD);
    void *packed = allocate(row->functions->packed(params));
    void *scratch = allocate(row->functions->scratch(params));
    qn_buffers b = {.in = {parts[0], parts[1], parts[2]},
                    .weights = h->parts[3] ? parts[3] : NULL,
                    .bias = h->parts[4] ? parts[4] : NULL,
                    .out = out + GUARD,
                    .scratch = scratch,
                    .packed = packed};
    memset(out, 0xa5, (size_t)size + 2 * GUARD);
    memset(scratch, 0xa5, (size_t)row->functions->scratch(params));
    if (row->functions->pack) {
        qn_pack_row(row, params, &b, packed);
    }
    int same = qn_run_row(row, params, &b) == QN_OK;
    same = same && memcmp(out + GUARD, want, (size_t)size) == 0;
    for (int64_t i = 0; i < GUARD; i++) {
        same = same && out[i] == 0xa5 && out[GUARD + size + i] == 0xa5;
    }
    release(out);
    release(packed);
    release(scratch);
    return same;
}

/* Runs the rows that this host has on one call; models destroy inputs, so each row gets copies. */
static int run_rows(const header *h, const void *params, uint8_t *const *parts, int *ran) {
    const uint32_t features = qn_cpu_features();
    int bad = 0;
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        if (strcmp(row->op->op, h->op) != 0 || strcmp(row->op->type, h->type) != 0 ||
            !claims_profile(row, (int32_t)h->profile) || row->cpu & ~features ||
            row->functions->scratch(params) == QN_NOT_TAKEN) {
            continue;
        }
        uint8_t *own[PARTS];
        for (int part = 0; part < PARTS; part++) {
            own[part] = allocate(h->parts[part]);
            memcpy(own[part], parts[part], (size_t)h->parts[part]);
        }
        ++*ran;
        if (!agrees(row, h, params, own, parts[PARTS - 1])) {
            bad++;
            printf("%s_%s.%s differs: profile %" PRId64 ", seed %" PRId64 "\n", h->op, h->type,
                   row->variant, h->profile, h->seed);
        }
        for (int part = 0; part < PARTS; part++) {
            release(own[part]);
        }
    }
    return bad;
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    header h;
    int calls = 0, ran = 0, bad = 0;
    if (!file) {
        fprintf(stderr, "usage: replay FILE\n");
        return 2;
    }
    printf("features %" PRIu32 "\n", qn_cpu_features());
    for (; fread(&h, sizeof h, 1, file) == 1; calls++) {
        uint8_t *parts[PARTS], *params = read_bytes(file, h.params);
        for (int part = 0; part < PARTS; part++) {
            parts[part] = read_bytes(file, h.parts[part]);
        }
        bad += run_rows(&h, params, parts, &ran);
        release(params);
        for (int part = 0; part < PARTS; part++) {
            release(parts[part]);
        }
    }
    fclose(file);
    printf("%d calls, %d runs of rows, %d of them wrong\n", calls, ran, bad);
    return ran == 0 || bad > 0;
}
