/* Memory on a border of 64 bytes, where POSIX is and where Windows is; included before all else. */
#ifndef MEMORY_H
#define MEMORY_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L /* posix_memalign() */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

static inline void *allocate(int64_t bytes) {
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    void *memory = NULL;
#if defined(_WIN32)
    memory = _aligned_malloc(size, 64);
#else
    if (posix_memalign(&memory, 64, size)) {
        memory = NULL;
    }
#endif
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

static inline void release(const void *memory) {
#if defined(_WIN32)
    _aligned_free((void *)memory);
#else
    free((void *)memory);
#endif
}

#endif
