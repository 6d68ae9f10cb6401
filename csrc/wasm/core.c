/* The interface of the WebAssembly core: rows by name, and one call at a time.
 *
 * A page lays parameters, weights and the arena into memory of qn_wasm_allocate(), and passes
 * addresses. It runs the steps of a plan in order, and reads each result where it lies. */
#include <stdlib.h>
#include <string.h>

#include "../include/qn.h"

#if defined(__wasm__)
#define EXPORT(name) __attribute__((export_name(name)))
#else
#define EXPORT(name) /* compiled for its warnings alone */
#endif

/* Memory that starts at a multiple of 64 bytes; it lives as long as the page. */
EXPORT("allocate") void *qn_wasm_allocate(int32_t bytes) {
    char *memory = malloc((size_t)bytes + 64);
    return memory ? memory + (64 - (uintptr_t)memory % 64) : NULL;
}

/* Return the row of an op by the name of its functions; NULL if there is none. */
EXPORT("find") const qn_kernel *qn_wasm_find(const char *op, const char *type, const char *symbol) {
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *kernel = qn_kernel_at(i);
        if (!strcmp(kernel->op->op, op) && !strcmp(kernel->op->type, type) &&
            !strcmp(kernel->symbol, symbol)) {
            return kernel;
        }
    }
    return NULL;
}

EXPORT("run")
int32_t qn_wasm_run(const qn_kernel *kernel, const void *params, const void *weights,
                    const void *bias, const void *packed, void *first, void *second, void *third,
                    void *out, void *scratch, int32_t sign_flipped) {
    const qn_buffers buffers = {
        .in = {first, second, third},
        .weights = weights,
        .bias = bias,
        .out = out,
        .scratch = scratch,
        .packed = packed,
        .sign_flipped = sign_flipped,
    };
    return kernel->functions->run(params, &buffers);
}
