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
    char kind; /* 'i': signed integers, 'u': unsigned, 'f': float */
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

/* The bits of one element, in this machine's byte order. */
static uint64_t element(const void *values, size_t index, const qn_golden *golden) {
    const unsigned char *at = (const unsigned char *)values + index * golden->width;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (golden->width) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

static int is_nan(uint64_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/* Return the number of elements that differ; all NaNs are equal. */
static size_t count(const qn_golden *golden, const void *buffer, size_t *first) {
    size_t index, differing = 0;
    for (index = golden->size / golden->width; index-- > 0;) {
        const uint64_t got = element(buffer, index, golden);
        const uint64_t want = element(golden->values, index, golden);
        if (got != want && !(golden->kind == 'f' && is_nan(got) && is_nan(want))) {
            *first = index;
            differing++;
        }
    }
    return differing;
}

/* An element of up to 32 bits as a number. */
static long number(uint64_t bits, const qn_golden *golden) {
    const int sign = 8 * (int)golden->width - 1;
    if (golden->kind == 'i' && bits >> sign != 0) {
        return (long)((int64_t)bits - ((int64_t)2 << sign));
    }
    return (long)bits;
}

static void print_failure(const qn_golden *golden, size_t index, uint64_t got, size_t differing) {
    const uint64_t want = element(golden->values, index, golden);
    const unsigned long at = (unsigned long)index, all = (unsigned long)differing;
    const unsigned long g = got & 0xffffffffu, w = want & 0xffffffffu; /* the lower halves */
    if (golden->width > 4) {
        QN_PRINTF("FAIL layer=%s index=%lu got=0x%08lx%08lx want=0x%08lx%08lx differing=%lu\n",
                  golden->name, at, (unsigned long)(got >> 32), g, (unsigned long)(want >> 32), w,
                  all);
    } else if (golden->width == 4 && golden->kind != 'i') {
        QN_PRINTF("FAIL layer=%s index=%lu got=0x%08lx want=0x%08lx differing=%lu\n", golden->name,
                  at, g, w, all);
    } else {
        QN_PRINTF("FAIL layer=%s index=%lu got=%ld want=%ld differing=%lu\n", golden->name, at,
                  number(got, golden), number(want, golden), all);
    }
}

int qn_equal(const char *name, const void *buffer, size_t size) {
    const qn_golden *golden = find(name);
    size_t first;
    return golden->name != NULL && size == golden->size && count(golden, buffer, &first) == 0;
}

#ifdef QN_DUMP
enum { PER_LINE = 32 };

static void dump(const char *name, const void *buffer, size_t size) {
    const unsigned char *bytes = buffer;
    uint32_t crc = 0xffffffffu, word = 0;
    size_t at, bit;
    for (at = 0; at < size; at++) {
        if (at % PER_LINE == 0) {
            QN_PRINTF("DATA %s %lu ", name, (unsigned long)at);
        }
        crc ^= bytes[at];
        for (bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
        }
        word = word << 8 | bytes[at];
        if (at % 4 == 3 || at + 1 == size) {
            QN_PRINTF("%08lx", ((unsigned long)word << (8 * (3 - at % 4))) & 0xffffffffu);
            word = 0;
        }
        if (at % PER_LINE == PER_LINE - 1 || at + 1 == size) {
            QN_PRINTF("\n");
        }
    }
    QN_PRINTF("CRC %s size=%lu crc32=%08lx\n", name, (unsigned long)size,
              (unsigned long)(~crc & 0xffffffffu));
}
#endif

int qn_check(const char *name, const void *buffer, size_t size) {
    const qn_golden *golden = find(name);
    size_t first = 0, differing;
#ifdef QN_DUMP
    dump(name, buffer, size);
#endif
    if (golden->name == NULL) {
        QN_PRINTF("FAIL layer=%s unknown\n", name);
        return 1;
    }
    if (size != golden->size) {
        QN_PRINTF("FAIL layer=%s size=%lu want=%lu\n", name, (unsigned long)size,
                  (unsigned long)golden->size);
        return 1;
    }
    differing = count(golden, buffer, &first);
    if (differing > 0) {
        print_failure(golden, first, element(buffer, first, golden), differing);
        return 1;
    }
    QN_PRINTF("PASS %s\n", name);
    return 0;
}
