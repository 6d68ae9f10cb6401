/* Runs whole networks on the best rows of this host and compares their bytes with those of plain
 * rows, on emulated processors without Python. tests/support/planned.py writes the header PLANNED.
 *
 * Exit code 1: the bytes of a network differ. */
#include "memory.h"

#include "claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qn.h"

typedef struct planned_step {
    const char *op, *type;
    const void *params, *weights, *bias;
    int64_t weights_bytes, bias_bytes;
    int64_t in[3];
    int64_t out, spare, spare_bytes;
} planned_step;

typedef struct planned {
    const char *name;
    const planned_step *steps;
    const qn_store *stores;
    const void *x, *want;
    int64_t step_count, store_count, input, input_bytes, arena_bytes, cleared;
} planned;

#include PLANNED

static void *filled(int64_t size) {
    void *memory = allocate(size + 64);
    memset(memory, 0xa5, (size_t)size);
    return memory;
}

/* As the planner chooses: rows stand best first. */
static const qn_kernel *best_row(const planned_step *step) {
    const int32_t profile = *(const int32_t *)step->params;
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        if (!strcmp(row->op->op, step->op) && !strcmp(row->op->type, step->type) &&
            strcmp(row->kind, "model") != 0 && claims_profile(row, profile) &&
            !(row->cpu & ~qn_cpu_features()) &&
            row->functions->scratch(step->params) != QN_NOT_TAKEN &&
            (row->functions->traits(step->params) & QN_PAYS)) {
            return row;
        }
    }
    exit(2);
}

/* Nobody wants to stop. */
static int32_t go_on(void) { return 0; }

static int same(const planned *network, int64_t *fast) {
    qn_step *steps = calloc((size_t)network->step_count, sizeof *steps);
    int64_t scratch = 0, results = 0;
    for (int64_t i = 0; i < network->step_count; i++) {
        const planned_step *from = &network->steps[i];
        qn_step *step = &steps[i];
        step->kernel = best_row(from);
        *fast += !strcmp(step->kernel->kind, "fast");
        step->params = from->params;
        step->weights = from->weights;
        step->bias = from->bias;
        step->weights_bytes = from->weights_bytes;
        step->bias_bytes = from->bias_bytes;
        step->packed_bytes = step->kernel->functions->packed(from->params);
        if (step->packed_bytes) {
            void *packed = filled(step->packed_bytes);
            step->kernel->functions->pack(from->params, from->weights, from->bias, packed);
            step->packed = packed;
        }
        memcpy(step->in, from->in, sizeof step->in);
        step->out = from->out;
        step->scratch = (network->arena_bytes + 63) / 64 * 64;
        step->spare = from->spare;
        step->spare_bytes = from->spare_bytes;
        const int64_t wanted = step->kernel->functions->scratch(from->params);
        scratch = wanted > scratch ? wanted : scratch;
    }
    const qn_load input = {0, network->input, network->input_bytes};
    void *outputs[8];
    for (int64_t i = 0; i < network->store_count; i++) {
        outputs[i] = filled(network->stores[i].bytes);
    }
    const qn_plan plan = {.steps = steps,
                          .inputs = &input,
                          .stores = network->stores,
                          .step_count = network->step_count,
                          .input_count = 1,
                          .store_count = network->store_count,
                          .arena_bytes = (network->arena_bytes + 63) / 64 * 64 + scratch,
                          .cleared = network->cleared,
                          .input_bytes = network->input_bytes};
    void *arena = filled(plan.arena_bytes);
    char why[QN_WHY];
    int64_t where;
    if (qn_plan_check(&plan, &where, why) != QN_OK) {
        printf("%s: step %" PRId64 ": %s\n", network->name, where, why);
        exit(2);
    }
    int equal = qn_execute(&plan, arena, 0, 1, 1, network->x, NULL, outputs, go_on, NULL) == QN_OK;
    for (int64_t i = 0; i < network->store_count; i++) {
        const char *want = (const char *)network->want + results;
        equal = equal && !memcmp(outputs[i], want, (size_t)network->stores[i].bytes);
        results += network->stores[i].bytes;
        release(outputs[i]);
    }
    if (!equal) {
        printf("%s has other bytes\n", network->name);
    }
    for (int64_t i = 0; i < network->step_count; i++) {
        release(steps[i].packed);
    }
    free(steps);
    release(arena);
    return equal;
}

int main(void) {
    const size_t count = sizeof networks / sizeof *networks;
    int64_t calls = 0, fast = 0;
    int bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad += !same(&networks[i], &fast);
        calls += networks[i].step_count;
    }
    printf("%zu networks, %d of them wrong; %" PRId64 " of %" PRId64 " calls on fast rows\n", count,
           bad, fast, calls);
    return bad > 0;
}
