/* The choice of an instruction set for sums of products of floats. */
#include "ordered.h"

void qn_ordered_sums(const qn_ordered *of, uint32_t features) {
    if (of->rows <= 0) {
        return;
    }
#if QN_HAS_X86
    if (features & QN_CPU_AVX2) {
        (of->wide ? qn_ordered_f64_avx2 : qn_ordered_f32_avx2)(of);
        return;
    }
#else
    (void)features;
#endif
    (of->wide ? qn_ordered_f64_any : qn_ordered_f32_any)(of);
}
