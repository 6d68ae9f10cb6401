/* The rows of kernels.inc as an array. */
#include "kernels.h"
#include "profiles.h"

int64_t qn_no_scratch(const void *params) {
    (void)params;
    return 0;
}

#define QN_ROW(kind, arithmetic, op, type, variant, profiles, cpu, run, scratch)
#define QN_OP(arithmetic, op, type, params, check) \
    static const qn_op arithmetic##_##op##_##type = {#arithmetic, #op, #type, #params, check};
#include "kernels.inc"
#undef QN_OP
#undef QN_ROW

#define QN_OP(arithmetic, op, type, params, check)
#define QN_ROW(kind, arithmetic, op, type, variant, profiles, cpu, run, scratch) \
    {#kind, #variant, &arithmetic##_##op##_##type, profiles, cpu, run, scratch},
static const qn_kernel kernels[] = {
#include "kernels.inc"
};
#undef QN_OP
#undef QN_ROW

int qn_kernel_count(void) { return (int)(sizeof kernels / sizeof kernels[0]); }

const qn_kernel *qn_kernel_at(int index) { return &kernels[index]; }
