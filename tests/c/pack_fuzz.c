/* Packs that nobody vouches for, with sizes and checksums that are right: load, run, delete.
 *
 * With libFuzzer it is a fuzz target. With PLAIN it has a main() of its own:
 *   fuzz exact PACK...        every changed byte and every truncation must be refused
 *   fuzz once PACK...         hundreds of random changes of each
 *   fuzz SECONDS PACK...      random changes, until the time is over */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../csrc/sdk/net.h"
#include "wq_cnn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static int try_pack(const uint8_t *data, size_t size) {
    struct cnn_net_pack_info net = cnn_load_net_pack_from(data, (uint32_t)size);
    if (!net.input_addr) {
        if (!net.error[0]) {
            abort(); /* refused without a reason */
        }
        return 0;
    }
    uint8_t *input = malloc(net.input_size), *output = malloc(net.output_size);
    memset(input, 0xA7, net.input_size);
    memset(net.input_addr, 0x81, net.input_aligned_size);
    if (!input || !output || cnn_run_net_pack(&net, input, output) ||
        cnn_run_net_pack(&net, net.input_addr, net.output_addr)) {
        abort();
    }
    free(input);
    free(output);
    cnn_delete_net_pack(&net);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (copy && size) {
        memcpy(copy, data, size);
    }
    if (copy && size >= CNN_HEADER_BYTES + 4) {
        put(copy + 16, (uint32_t)size);
        put(copy + size - 4, cnn_checksum(copy, size - 4));
    }
    if (copy) {
        try_pack(copy, size);
    }
    free(copy);
    return 0;
}

#ifdef PLAIN
static uint32_t state = 2463534242u;

static uint32_t below(uint32_t limit) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % limit;
}

static uint8_t *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    uint8_t *data = malloc(1 << 24);
    *size = file && data ? fread(data, 1, 1 << 24, file) : 0;
    if (*size < CNN_HEADER_BYTES + 4 || fclose(file)) {
        exit(2);
    }
    return data;
}

static int exact(const uint8_t *pack, size_t size) {
    int accepted = !try_pack(pack, size);
    for (size_t i = 0; i < size; i++) {
        uint8_t *cut = malloc(i ? i : 1), *changed = malloc(size);
        memcpy(cut, pack, i);
        memcpy(changed, pack, size);
        for (int bit = 0; bit < 8; bit++) {
            changed[i] = (uint8_t)(pack[i] ^ 1 << bit);
            accepted += try_pack(changed, size);
        }
        accepted += try_pack(cut, i);
        free(cut);
        free(changed);
    }
    return accepted;
}

/* One to four changes: a byte, a field of 4 bytes, a range moved, the end cut off. */
static size_t change(uint8_t *data, size_t size) {
    static const uint32_t hurting[] = {
        0,          1,          2,          255,        256,  32767,  65535, 65536,
        0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 1024, 0x4000, 8,     16};
    for (uint32_t n = 1 + below(4); n > 0; n--) {
        size_t head = below(2) && size > 400 ? 400 : size;
        size_t at = CNN_HEADER_BYTES - 12 + below((uint32_t)head - CNN_HEADER_BYTES - 4 + 12);
        switch (below(8)) {
            case 0:
            case 1:
            case 2:
                data[at] = (uint8_t)below(256);
                break;
            case 3:
            case 4:
                data[at] = (uint8_t)(data[at] + (below(2) ? 1 : 255));
                break;
            case 5:
            case 6:
                if (at + 4 <= size) {
                    put(data + at, hurting[below(16)]);
                }
                break;
            default:
                if (below(4)) {
                    size_t from = CNN_HEADER_BYTES + below((uint32_t)size - CNN_HEADER_BYTES);
                    size_t length = size - (from > at ? from : at);
                    memmove(data + at, data + from, length < 40 ? length : 40);
                } else if (at > CNN_HEADER_BYTES + 8) {
                    size = at;
                }
        }
    }
    return size;
}

int main(int count, char **words) {
    unsigned long runs = 0;
    if (count > 2 && strcmp(words[1], "exact") == 0) {
        size_t size;
        uint8_t *pack = read_file(words[2], &size);
        int accepted = exact(pack, size);
        printf("%d accepted\n", accepted);
        free(pack);
        return accepted != 0;
    }
    const int packs = count - 2, once = count > 2 && strcmp(words[1], "once") == 0;
    time_t end = time(NULL) + (count > 2 ? atol(words[1]) : 0);
    for (int i = 0; packs > 0 && (once ? i < packs : time(NULL) < end); i++) {
        size_t size;
        uint8_t *pack = read_file(words[2 + i % packs], &size), *copy = malloc(size);
        for (int n = 0; n < 500; n++, runs++) {
            memcpy(copy, pack, size);
            LLVMFuzzerTestOneInput(copy, change(copy, size));
        }
        free(copy);
        free(pack);
    }
    printf("%lu executions\n", runs);
    return 0;
}
#endif
