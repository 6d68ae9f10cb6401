/* The rows of kernels.inc as an array, and what this host can run. */
#include "common/kernels.h"
#include "common/profiles.h"

int64_t qn_no_scratch(const void *params) {
    (void)params;
    return 0;
}

int64_t qn_no_packed(const void *params) { return qn_no_scratch(params); }

int32_t qn_always_pays(const void *params) {
    (void)params;
    return QN_PAYS;
}

#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack)
#define QN_CHOSEN(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack, traits)
#define QN_OP(arithmetic, op, type, params, check) \
    static const qn_op op##_##type = {#arithmetic, #op, #type, #params, check};
#include "kernels.inc"
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED
#undef QN_CHOSEN

/* clang-format off */
#define QN_OP(arithmetic, op, type, params, check)
#define QN_ROW(kind, op, type, variant, cpu, profiles, run, scratch) \
    QN_PACKED(kind, op, type, variant, cpu, profiles, run, scratch, qn_no_packed, NULL)
#define QN_PACKED(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack) \
    QN_CHOSEN(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack, qn_always_pays)
#define QN_CHOSEN(kind, op, type, variant, cpu, profiles, run, scratch, packed, pack, traits) \
    QN_ON_##cpu({&op##_##type, #kind, #variant, #run, profiles, QN_CPU_##cpu, run, scratch, \
                 packed, pack, traits},)
/* clang-format on */
static const qn_kernel kernels[] = {
#include "kernels.inc"
};
#undef QN_OP
#undef QN_ROW
#undef QN_PACKED
#undef QN_CHOSEN

int qn_kernel_count(void) { return (int)(sizeof kernels / sizeof kernels[0]); }

const qn_kernel *qn_kernel_at(int index) { return &kernels[index]; }
