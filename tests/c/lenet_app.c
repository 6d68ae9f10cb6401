/* An application as the kit's manual writes one: loads a pack, runs an input, prints the best five.
 *
 *   app PACK INPUT OUTPUT    also runs the parallel way; OUTPUT.aligned gets what lies there */
#include <stdio.h>

#include "wq_cnn.h"

static int read_file(const char *name, void *to, uint32_t size) {
    FILE *file = fopen(name, "rb");
    size_t got = file ? fread(to, 1, size, file) : 0;
    return file && fclose(file) == 0 && got == size ? 0 : 1;
}

static int write_file(const char *name, const char *end, const void *from, uint32_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s%s", name, end);
    FILE *file = fopen(path, "wb");
    size_t put = file ? fwrite(from, 1, size, file) : 0;
    return file && fclose(file) == 0 && put == size ? 0 : 1;
}

/* The rows of the packed input, each at the next multiple of 32 bytes. */
static void align(uint8_t *to, const uint8_t *from, uint32_t size, uint32_t row) {
    for (uint32_t at = 0; at < size; at += row, to += (row + 31) / 32 * 32) {
        os_mem_cpy(to, from + at, row);
    }
}

int main(int count, char **words) {
    if (count != 5) {
        return 2;
    }
    unsigned row = 0;
    sscanf(words[4], "%u", &row); /* bytes of a row of the input */
    struct cnn_net_pack_info pack_info = cnn_load_net_pack(words[1]);
    if (pack_info.input_addr == NULL) {
        return 1;
    }
    uint8_t *input = os_mem_malloc(1, pack_info.input_size);
    int8_t *net_output = os_mem_malloc(1, pack_info.output_size);
    int failed = read_file(words[2], input, pack_info.input_size);
    failed |= cnn_run_net_pack(&pack_info, input, net_output);
    failed |= write_file(words[3], "", net_output, pack_info.output_size);
    align(pack_info.input_addr, input, pack_info.input_size, row);
    failed |= cnn_start_net_pack(&pack_info);
    while (cnn_get_status()) {
    }
    failed |=
        write_file(words[3], ".aligned", pack_info.output_addr, pack_info.output_aligned_size);
    if (pack_info.feature_byte == 1) {
        cnn_print_top5(net_output, pack_info.output_size);
    }
    cnn_delete_net_pack(&pack_info);
    os_mem_free(input);
    os_mem_free(net_output);
    return failed;
}
