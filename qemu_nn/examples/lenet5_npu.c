/* An application for the NPU: reads images from a file, writes the network's scores to another.
 *
 *     lenet5 PACK IMAGES SCORES COUNT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "wq_cnn.h"

enum { IMAGE = 32 * 32, CLASSES = 10 };

int main(int argc, char **argv) {
    static uint8_t image[IMAGE];
    static int8_t scores[CLASSES];
    if (argc != 5) {
        fprintf(stderr, "usage: %s PACK IMAGES SCORES COUNT\n", argv[0]);
        return 2;
    }
    struct cnn_net_pack_info pack = cnn_load_net_pack(argv[1]);
    FILE *images = fopen(argv[2], "rb");
    FILE *output = fopen(argv[3], "wb");
    if (pack.input_addr == NULL || images == NULL || output == NULL) {
        fprintf(stderr, "cannot open %s, %s or %s\n", argv[1], argv[2], argv[3]);
        return 2;
    }
    const long count = strtol(argv[4], NULL, 10);
    for (long i = 0; i < count; i++) {
        if (fread(image, 1, IMAGE, images) != IMAGE) {
            fprintf(stderr, "%s ends after %ld images\n", argv[2], i);
            return 2;
        }
        cnn_run_net_pack(&pack, image, scores);
        fwrite(scores, 1, CLASSES, output);
    }
    cnn_print_top5(scores, CLASSES);
    cnn_delete_net_pack(&pack);
    fclose(images);
    return fclose(output) == 0 ? 0 : 2;
}
