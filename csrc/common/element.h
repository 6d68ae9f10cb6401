/* Elements of tensors, read and written by type, so that a plain row is written once for all types.
 * Writes saturate. */
#ifndef QN_ELEMENT_H
#define QN_ELEMENT_H

#include "fixed.h"

typedef int32_t qn_read(const void *array, int64_t index);
typedef void qn_write(void *array, int64_t index, int64_t value);

static inline int32_t qn_read_s8(const void *a, int64_t i) { return ((const int8_t *)a)[i]; }
static inline int32_t qn_read_u8(const void *a, int64_t i) { return ((const uint8_t *)a)[i]; }
static inline int32_t qn_read_s16(const void *a, int64_t i) { return ((const int16_t *)a)[i]; }

static inline void qn_write_s8(void *a, int64_t i, int64_t value) {
    ((int8_t *)a)[i] = (int8_t)qn_clamp64(value, INT8_MIN, INT8_MAX);
}
static inline void qn_write_s16(void *a, int64_t i, int64_t value) {
    ((int16_t *)a)[i] = (int16_t)qn_clamp64(value, INT16_MIN, INT16_MAX);
}

#endif
