/* Elements of the NPU's tensors, read and written by type: 8 or 16 bits, and unsigned 8 bits at a
 * network's input. What is written saturates. */
#ifndef QN_NPU_ELEMENT_H
#define QN_NPU_ELEMENT_H

#include "../common/contract.h"
#include "kernels.h"

typedef int32_t n_read(const void *array, int64_t index);
typedef void n_write(void *array, int64_t index, int64_t value);

static inline int32_t n_read_s8(const void *a, int64_t i) { return ((const int8_t *)a)[i]; }
static inline int32_t n_read_u8(const void *a, int64_t i) { return ((const uint8_t *)a)[i]; }
static inline int32_t n_read_s16(const void *a, int64_t i) { return ((const int16_t *)a)[i]; }

static inline void n_write_s8(void *a, int64_t i, int64_t value) {
    ((int8_t *)a)[i] = (int8_t)qn_clamp64(value, INT8_MIN, INT8_MAX);
}
static inline void n_write_s16(void *a, int64_t i, int64_t value) {
    ((int16_t *)a)[i] = (int16_t)qn_clamp64(value, INT16_MIN, INT16_MAX);
}

/* Sizes that one array may have, and one side of it. */
enum { N_SIDE = UINT16_MAX };

static inline int n_fits(const char *name, int64_t bytes, char *why) {
    if (bytes > INT32_MAX) {
        return qn_deny(why, QN_REFUSED, "%s would have %lld bytes, more than 2^31 - 1", name,
                       (long long)bytes);
    }
    return QN_OK;
}

#endif
