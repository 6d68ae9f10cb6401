/* Prints what each call returns for one pack, whose network takes a while. */
#include <stdio.h>

#include "wq_cnn.h"

int main(int count, char **words) {
    struct cnn_net_pack_info net = cnn_load_net_pack(count > 1 ? words[1] : NULL), copy, other;
    printf("loaded %d\nidle %d\n", net.input_addr != NULL, cnn_get_status());
    uint8_t first, second;
    int8_t status;
    int tries = 0;
    do { /* this thread may sleep longer than the network takes */
        first = cnn_start_net_pack(&net);
        second = cnn_start_net_pack(&net);
        status = cnn_get_status();
        while (cnn_get_status()) {
        }
    } while (!(second && status) && ++tries < 100);
    printf("start %d\nagain %d\nbusy %d\n", first, second, status != 0);
    copy = other = net;
    other.feature_byte = 7;
    printf("other %d\n", cnn_start_net_pack(&other));
    printf("once more %d\n", cnn_start_net_pack(&net));
    cnn_delete_net_pack(&net);
    printf("idle %d\n", cnn_get_status());
    printf("deleted %d\ncopy %d\n", cnn_start_net_pack(&net), cnn_start_net_pack(&copy));
    printf("run %d\n", cnn_run_net_pack(&copy, NULL, NULL));
    cnn_delete_net_pack(&copy);
    struct cnn_net_pack_info none = cnn_load_net_pack("no such pack");
    printf("none %d %s\n", none.input_addr == NULL, none.error);
    return 0;
}
