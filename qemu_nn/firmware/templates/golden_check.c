/* See golden_check.h. */
#include "golden_check.h"

#include <stdint.h>
#include <string.h>

#ifndef QN_PRINTF
#include <stdio.h>
#define QN_PRINTF printf
#else
int QN_PRINTF(const char *format, ...);
#endif

typedef struct qn_golden {
    const char *name;
    const void *values;
    size_t size, width; /* bytes of all elements, and of one */
    int kind; /* 0: signed integers, 1: unsigned ones and truth values, 2: float */
} qn_golden;

#include "golden_table.h" /* qn_goldens[]; its last entry has no name */

static const qn_golden *find(const char *name) {
    const qn_golden *golden = qn_goldens;
    while (golden->name != NULL && strcmp(golden->name, name) != 0) {
        golden++;
    }
    return golden;
}

const void *qn_golden_values(const char *name) { return find(name)->values; }

/* One element to print, in this machine's byte order: of a float the bits, of 64 bits the low ones. */
static long element(const void *values, size_t index, const qn_golden *golden) {
    const size_t width = golden->width;
    const unsigned char *at = (const unsigned char *)values + index * width;
    int8_t q7;
    int16_t q15;
    int32_t q31;
    int64_t q63;
    if (golden->kind == 1 && width == 1) {
        return *at;
    }
    if (width == sizeof q63) {
        memcpy(&q63, at, sizeof q63);
        return (long)q63;
    }
    if (width == sizeof q7) {
        memcpy(&q7, at, sizeof q7);
        return q7;
    }
    if (width == sizeof q15) {
        memcpy(&q15, at, sizeof q15);
        return q15;
    }
    memcpy(&q31, at, sizeof q31);
    return (long)q31;
}

static int is_nan(const unsigned char *at) {
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* The same bytes; any NaN is as good as another. */
static int same(const void *values, size_t index, const qn_golden *golden) {
    const unsigned char *a = (const unsigned char *)values + index * golden->width;
    const unsigned char *b = (const unsigned char *)golden->values + index * golden->width;
    return memcmp(a, b, golden->width) == 0 || (golden->kind == 2 && is_nan(a) && is_nan(b));
}

int qn_check(const char *name, const void *buffer, size_t size) {
    const qn_golden *golden = find(name);
    size_t index, first = 0, differing = 0;
    if (golden->name == NULL) {
        QN_PRINTF("FAIL layer=%s unknown\n", name);
        return 1;
    }
    if (size != golden->size) {
        QN_PRINTF("FAIL layer=%s size=%lu want=%lu\n", name, (unsigned long)size,
                  (unsigned long)golden->size);
        return 1;
    }
    for (index = size / golden->width; index-- > 0;) {
        if (!same(buffer, index, golden)) {
            first = index;
            differing++;
        }
    }
    if (differing > 0) {
        QN_PRINTF("FAIL layer=%s index=%lu got=%ld want=%ld differing=%lu\n", name,
                  (unsigned long)first, element(buffer, first, golden),
                  element(golden->values, first, golden), (unsigned long)differing);
        return 1;
    }
    QN_PRINTF("PASS %s\n", name);
    return 0;
}
