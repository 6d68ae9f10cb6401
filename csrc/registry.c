/* The rows of kernels.inc as an array, and what this host can run. */
#include "kernels.h"
#include "profiles.h"

int64_t qn_no_scratch(const void *params) {
    (void)params;
    return 0;
}

int64_t qn_no_packed(const void *params) { return qn_no_scratch(params); }

#define QN_ROW(kind, arithmetic, op, type, variant, profiles, cpu, run, scratch)
#define QN_PACKED_ROW(arithmetic, op, type, variant, profiles, cpu, run, scratch, packed, pack)
#define QN_OP(arithmetic, op, type, params, check) \
    static const qn_op arithmetic##_##op##_##type = {#arithmetic, #op, #type, #params, check};
#include "kernels.inc"
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED_ROW

#define QN_OP(arithmetic, op, type, params, check)
#define QN_ROW(kind, arithmetic, op, type, variant, profiles, cpu, run, scratch)   \
    {#kind,   #variant,     #run, &arithmetic##_##op##_##type, profiles, cpu, run, \
     scratch, qn_no_packed, 0},
#define QN_PACKED_ROW(arithmetic, op, type, variant, profiles, cpu, run, scratch, packed, pack) \
    {"fast",  #variant, #run, &arithmetic##_##op##_##type, profiles, cpu, run,                  \
     scratch, packed,   pack},
static const qn_kernel kernels[] = {
#include "kernels.inc"
};
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED_ROW

int qn_kernel_count(void) { return (int)(sizeof kernels / sizeof kernels[0]); }

const qn_kernel *qn_kernel_at(int index) { return &kernels[index]; }
