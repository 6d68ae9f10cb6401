/* Elements of the NPU's tensors by type: 8 or 16 bits, and unsigned 8 bits at a network's input.
 * Writing an element saturates. */
#ifndef QN_NPU_ELEMENT_H
#define QN_NPU_ELEMENT_H

#include "../common/contract.h"
#include "../common/element.h"
#include "kernels.h"

/* The maximum length of a side of an array. */
enum { N_SIDE = UINT16_MAX };

static inline int n_fits(const char *name, int64_t bytes, char *why) {
    if (bytes > INT32_MAX) {
        return qn_deny(why, QN_REFUSED, "%s would have %lld bytes, more than 2^31 - 1", name,
                       (long long)bytes);
    }
    return QN_OK;
}

#endif
