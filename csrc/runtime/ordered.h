/* Sums of products of floats, for each type and instruction set. */
#ifndef QN_ORDERED_H
#define QN_ORDERED_H

#include "../common/profiles.h"
#include "../include/qn.h"

void qn_ordered_f32_any(const qn_ordered *of);
void qn_ordered_f64_any(const qn_ordered *of);
#if QN_HAS_X86
void qn_ordered_f32_avx2(const qn_ordered *of);
void qn_ordered_f64_avx2(const qn_ordered *of);
#endif

#endif
