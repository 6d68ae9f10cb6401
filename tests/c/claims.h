/* Claims of rows: sets of profiles, as masks that csrc/include/qn.h describes. */
#ifndef QN_TESTS_CLAIMS_H
#define QN_TESTS_CLAIMS_H

#include <stdint.h>

#include "../../csrc/include/qn.h"

/* Returns the bit of a profile in the masks of rows. */
static inline int bit_of_profile(int32_t profile) {
    const int32_t release = profile >> 3, path = profile >> 1 & 3;
    if (profile == QN_PROFILE_NPU) {
        return QN_NPU_BIT;
    }
    return 5 * release + (path == QN_PATH_MVE && (profile & 1) ? QN_PATH_MVE_SINGLE : path);
}

static inline int claims_profile(const qn_kernel *row, int32_t profile) {
    return (int)(row->profiles >> bit_of_profile(profile) & 1);
}

#endif
