/* The state of the one NPU: its networks, and the network that it computes. */
#include "../runtime/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net.h"
#include "wq_cnn.h"

enum { FILE_BYTES = 1 << 29, CHUNK = 1 << 16 };

static struct {
    qn_mutex lock;
    qn_condition idle;
    cnn_net *nets;
    const cnn_net *running; /* NULL: idle */
    uint32_t last_id;
} npu = {QN_MUTEX_INIT, QN_CONDITION_INIT, NULL, NULL, 0};

/* Return the network with this number, or NULL if it was deleted. Requires the lock. */
static cnn_net *find(uint32_t id) {
    cnn_net *net = npu.nets;
    while (net && net->id != id) {
        net = net->next;
    }
    return net;
}

/* Find the network of an info. Return CNN_OK, or the reason why it cannot run. Requires the
 * lock. */
static uint8_t find_runnable(const struct cnn_net_pack_info *info, cnn_net **net) {
    *net = info ? find(info->net) : NULL;
    if (!*net) {
        return CNN_DELETED;
    }
    return info->feature_byte == (*net)->element ? CNN_OK : CNN_WRONG_FEATURE_BYTE;
}

static void finish(void) {
    qn_lock(&npu.lock);
    npu.running = NULL;
    qn_wake_all(&npu.idle);
    qn_unlock(&npu.lock);
}

QN_THREAD_MAIN work(void *argument) {
    cnn_net *net = argument;
    cnn_put_input(net, net->input, CNN_ROW_BYTES);
    cnn_compute(net);
    cnn_get_outputs(net, net->output, CNN_ROW_BYTES);
    finish();
    return 0;
}

uint8_t cnn_start_net_pack(struct cnn_net_pack_info *info) {
    cnn_net *net;
    qn_lock(&npu.lock);
    uint8_t status = find_runnable(info, &net);
    if (status == CNN_OK && npu.running) {
        status = CNN_BUSY;
    }
    if (status == CNN_OK) {
        npu.running = net;
    }
    qn_unlock(&npu.lock);
    if (status == CNN_OK) {
        qn_thread thread;
        if (qn_thread_start(&thread, work, net) == 0) {
            qn_thread_detach(thread);
        } else {
            work(net); /* without a thread, compute before returning */
        }
    }
    return status;
}

uint8_t cnn_run_net_pack(struct cnn_net_pack_info *info, const void *input, void *output) {
    cnn_net *net;
    qn_lock(&npu.lock);
    while (npu.running) {
        qn_wait(&npu.idle, &npu.lock);
    }
    uint8_t status = find_runnable(info, &net);
    if (status == CNN_OK) {
        npu.running = net;
    }
    qn_unlock(&npu.lock);
    if (status == CNN_OK) {
        cnn_put_input(net, input, 1);
        cnn_compute(net);
        cnn_get_outputs(net, output, 1);
        finish();
    }
    return status;
}

int8_t cnn_get_status(void) {
    qn_lock(&npu.lock);
    int8_t busy = npu.running != NULL;
    qn_unlock(&npu.lock);
    return busy;
}

void cnn_delete_net_pack(struct cnn_net_pack_info *info) {
    if (!info) {
        return;
    }
    qn_lock(&npu.lock);
    cnn_net *net = find(info->net);
    while (net && npu.running == net) {
        qn_wait(&npu.idle, &npu.lock);
        net = find(info->net);
    }
    for (cnn_net **link = &npu.nets; *link && net; link = &(*link)->next) {
        if (*link == net) {
            *link = net->next;
            break;
        }
    }
    qn_unlock(&npu.lock);
    if (net) {
        cnn_free(net);
    }
    info->input_addr = info->output_addr = NULL;
    info->net = 0;
}

/* Allocate the features, and the input and output that the application sees. */
static int allocate(cnn_net *net, struct cnn_net_pack_info *info) {
    int64_t packed = 0, aligned = 0;
    for (uint32_t i = 0; i < net->given; i++) {
        if (cnn_is_output(net, i)) {
            packed += cnn_size(net, &net->tensors[i], 1);
            aligned += cnn_size(net, &net->tensors[i], CNN_ROW_BYTES);
        }
    }
    int64_t input = cnn_size(net, &net->tensors[0], CNN_ROW_BYTES);
    if (packed == 0 || aligned > CNN_ARENA_BYTES || input > CNN_ARENA_BYTES) {
        return cnn_deny(net, "it has no output, or aligned rows of more than 2^30 bytes");
    }
    net->arena = malloc((size_t)net->arena_bytes);
    net->input = calloc(1, (size_t)input);
    net->output = calloc(1, (size_t)aligned);
    if (!net->arena || !net->input || !net->output) {
        return cnn_deny(net, "there is no memory for its features");
    }
    info->input_addr = net->input;
    info->output_addr = net->output;
    info->feature_byte = (uint8_t)net->element;
    info->input_size = (uint32_t)net->tensors[0].bytes;
    info->output_size = (uint32_t)packed;
    info->input_aligned_size = (uint32_t)input;
    info->output_aligned_size = (uint32_t)aligned;
    return 0;
}

static struct cnn_net_pack_info load(const uint8_t *data, size_t size) {
    struct cnn_net_pack_info info;
    memset(&info, 0, sizeof info);
    char why[QN_WHY] = "";
    cnn_net *net = calloc(1, sizeof *net);
    if (!net) {
        snprintf(info.error, sizeof info.error, "there is no memory");
        return info;
    }
    net->why = why;
    if (cnn_read(net, data, size) || allocate(net, &info)) {
        snprintf(info.error, sizeof info.error, "%.200s", why);
        cnn_free(net);
        return info;
    }
    net->why = NULL;
    qn_lock(&npu.lock);
    npu.last_id += npu.last_id == UINT32_MAX ? 2 : 1; /* 0 is none */
    info.net = net->id = npu.last_id;
    net->next = npu.nets;
    npu.nets = net;
    qn_unlock(&npu.lock);
    return info;
}

struct cnn_net_pack_info cnn_load_net_pack_from(const void *pack, uint32_t size) {
    return load(pack, pack ? size : 0);
}

/* Read a whole file. Return NULL if it is too long or unreadable, or if there is no memory. */
static uint8_t *read_whole(FILE *file, size_t *size) {
    uint8_t *data = NULL;
    size_t capacity = 0, got = 1;
    for (*size = 0; got > 0; *size += got) {
        if (*size == capacity) {
            capacity = capacity ? 2 * capacity : CHUNK;
            uint8_t *larger = capacity <= FILE_BYTES ? realloc(data, capacity) : NULL;
            if (!larger) {
                free(data);
                return NULL;
            }
            data = larger;
        }
        got = fread(data + *size, 1, capacity - *size, file);
    }
    if (ferror(file)) {
        free(data);
        return NULL;
    }
    return data;
}

/* Open a regular file. A pipe or a device may block, or never end. */
static FILE *open_regular(const char *name) {
    struct stat status;
    return stat(name, &status) == 0 && S_ISREG(status.st_mode) ? fopen(name, "rb") : NULL;
}

static FILE *open_pack(const char *name) {
    FILE *file = open_regular(name);
    char inside[1024];
    int length = file ? 0 : snprintf(inside, sizeof inside, "custom/%s", name);
    if (length > 0 && length < (int)sizeof inside) {
        file = open_regular(inside);
    }
    return file;
}

struct cnn_net_pack_info cnn_load_net_pack(const char *name) {
    struct cnn_net_pack_info info;
    memset(&info, 0, sizeof info);
    FILE *file = name ? open_pack(name) : NULL;
    if (!file) {
        snprintf(info.error, sizeof info.error, "there is no such file, and none in custom/");
    } else {
        size_t size;
        uint8_t *data = read_whole(file, &size);
        fclose(file);
        if (data) {
            info = load(data, size);
        } else {
            snprintf(info.error, sizeof info.error,
                     "it cannot be read, or has more than 2^29 bytes");
        }
        free(data);
    }
    if (info.error[0]) {
        fprintf(stderr, "cannot load the network %s: %s\n", name ? name : "", info.error);
    }
    return info;
}
