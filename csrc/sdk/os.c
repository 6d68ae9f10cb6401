/* Functions outside the NPU that the applications of the kit's manual call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wq_cnn.h"

void *os_mem_malloc(uint32_t module, uint32_t size) {
    (void)module;
    return malloc(size ? size : 1);
}

void os_mem_free(void *memory) { free(memory); }

void os_mem_cpy(void *dst, const void *src, uint32_t len) {
    if (len) {
        memcpy(dst, src, len);
    }
}

/* True if a precedes b. */
static int precedes(const int8_t *output, uint32_t a, uint32_t b) {
    return output[a] > output[b] || (output[a] == output[b] && a < b);
}

void cnn_print_top5(const int8_t *output, uint32_t n) {
    uint32_t last = 0;
    for (uint32_t place = 1; place <= 5 && place <= n; place++) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++) {
            int unprinted = place == 1 || precedes(output, last, i);
            if (unprinted && (best == n || precedes(output, i, best))) {
                best = i;
            }
        }
        printf("top %lu: class %lu, value %d\n", (unsigned long)place, (unsigned long)best,
               output[best]);
        last = best;
    }
}
