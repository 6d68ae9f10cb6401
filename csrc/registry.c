/* The rows of the lists as an array. */
#include "kernels.h"

int64_t qn_no_scratch(const void *params) {
    (void)params;
    return 0;
}

int64_t qn_no_packed(const void *params) { return qn_no_scratch(params); }

int32_t qn_always_pays(const void *params) {
    (void)params;
    return QN_PAYS;
}

int qn_no_split(void *params, qn_extent *extent) {
    (void)params, (void)extent;
    return QN_REFUSED;
}

int qn_vector_split(void *params, qn_extent *extent) {
    *extent = (qn_extent){.length = &((qn_vector *)params)->length};
    return QN_OK;
}

/* The ops, then the rows. */
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED
#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, functions)
#define QN_OP(arithmetic, op, type, params, check, split)                    \
    static const qn_op op##_##type = {#arithmetic,    #op,   #type, #params, \
                                      sizeof(params), check, split};
#include "kernels.inc"

/* clang-format off */
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED
#define QN_OP(arithmetic, op, type, params, check, split)
#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch)                           \
    QN_ON_##cpu({&op##_##type, #kind, #variant, #run, profiles, QN_CPU_##cpu,                  \
                 &(const qn_functions){run, scratch, qn_no_packed, NULL, qn_always_pays}},)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, functions) \
    QN_ON_##cpu({&op##_##type, #kind, #variant, #functions, profiles, QN_CPU_##cpu, &functions},)
/* clang-format on */
static const qn_kernel kernels[] = {
#include "kernels.inc"
};

int qn_kernel_count(void) { return (int)(sizeof kernels / sizeof kernels[0]); }

const qn_kernel *qn_kernel_at(int index) { return &kernels[index]; }
