/* A network in memory: appending tensors and steps, and running them. */
#include "net.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

int cnn_deny(cnn_net *net, const char *format, ...) {
    if (net->why[0] == 0) {
        va_list values;
        va_start(values, format);
        vsnprintf(net->why, QN_WHY, format, values);
        va_end(values);
    }
    return -1;
}

void *cnn_grow(void *array, uint32_t count, uint32_t *capacity, size_t element) {
    if (count < *capacity) {
        return array;
    }
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *larger = realloc(array, wanted * element);
    *capacity = larger ? wanted : *capacity;
    return larger;
}

int64_t cnn_new_tensor(cnn_net *net, cnn_tensor tensor) {
    tensor.bytes = (int64_t)tensor.channels * tensor.height * tensor.width;
    tensor.bytes *= net->element; /* at most 2 * 65535^3 < 2^49 */
    if (tensor.bytes > CNN_FEATURE_BYTES || net->arena_bytes > CNN_ARENA_BYTES - tensor.bytes) {
        return cnn_deny(net, "its features have more than 2^28 bytes");
    }
    cnn_tensor *all = cnn_grow(net->tensors, net->tensor_count, &net->tensor_capacity, sizeof *all);
    if (!all) {
        return cnn_deny(net, "there is no memory for its tensors");
    }
    net->tensors = all;
    tensor.at = net->arena_bytes;
    net->arena_bytes += (tensor.bytes + ALIGN - 1) / ALIGN * ALIGN;
    all[net->tensor_count] = tensor;
    return net->tensor_count++;
}

static int agrees(cnn_net *net, cnn_op op, const cnn_step *step, int64_t weights, int64_t bias) {
    qn_sizes sizes = {{0, 0}, 0, 0, 0, 0, 0};
    char why[QN_WHY] = "";
    if (op.check(&step->params, &sizes, why) != QN_OK) {
        return cnn_deny(net, "layer %lu: %.200s", (unsigned long)net->layer, why);
    }
    const cnn_tensor *a = &net->tensors[step->in[0]], *b = &net->tensors[step->in[1]];
    int inputs = sizes.in[0] == a->bytes && (sizes.in[1] == 0 || sizes.in[1] == b->bytes);
    if (!inputs || sizes.out != net->tensors[step->out].bytes || sizes.weights != weights ||
        sizes.bias != bias) {
        return cnn_deny(
            net, "layer %lu has other sizes of tensors or weights than its parameters require",
            (unsigned long)net->layer);
    }
    return 0;
}

int cnn_add_step(cnn_net *net, cnn_op op, cnn_step step, int64_t weights, int64_t bias) {
    cnn_step *all = cnn_grow(net->steps, net->step_count, &net->step_capacity, sizeof *all);
    if (!all) {
        free(step.weights);
        free(step.bias);
        return cnn_deny(net, "there is no memory for its steps");
    }
    net->steps = all;
    step.run = op.run;
    all[net->step_count++] = step;
    return agrees(net, op, &step, weights, bias);
}

void cnn_free(cnn_net *net) {
    for (uint32_t i = 0; i < net->step_count; i++) {
        free(net->steps[i].weights);
        free(net->steps[i].bias);
    }
    free(net->steps);
    free(net->tensors);
    free(net->arena);
    free(net->input);
    free(net->output);
    free(net);
}

void cnn_compute(cnn_net *net) {
    for (uint32_t i = 0; i < net->step_count; i++) {
        const cnn_step *step = &net->steps[i];
        qn_buffers buffers = {
            .in = {net->arena + net->tensors[step->in[0]].at,
                   net->arena + net->tensors[step->in[1]].at},
            .weights = step->weights,
            .bias = step->bias,
            .out = net->arena + net->tensors[step->out].at,
        };
        step->run(&step->params, &buffers);
    }
}

int cnn_is_output(const cnn_net *net, uint32_t tensor) {
    return tensor > 0 && !net->tensors[tensor].is_read;
}

static int64_t row_bytes(const cnn_net *net, const cnn_tensor *tensor, int64_t align) {
    return ((int64_t)tensor->width * net->element + align - 1) / align * align;
}

int64_t cnn_size(const cnn_net *net, const cnn_tensor *tensor, int64_t align) {
    return row_bytes(net, tensor, align) * tensor->channels * tensor->height;
}

/* Copy between the arena's [y][x][c] and [c][y][x], in rows of multiples of `align` bytes. */
static void copy(const cnn_net *net, const cnn_tensor *tensor, uint8_t *plane, int64_t align,
                 int into_arena) {
    uint8_t *image = net->arena + tensor->at;
    size_t element = (size_t)net->element;
    for (int64_t c = 0; c < tensor->channels; c++) {
        for (int64_t y = 0; y < tensor->height; y++) {
            uint8_t *row = plane + (c * tensor->height + y) * row_bytes(net, tensor, align);
            for (int64_t x = 0; x < tensor->width; x++) {
                uint8_t *flat = row + x * net->element;
                int64_t pixel = (y * tensor->width + x) * tensor->channels + c;
                uint8_t *own = image + pixel * net->element;
                memcpy(into_arena ? own : flat, into_arena ? flat : own, element);
            }
        }
    }
}

void cnn_put_input(cnn_net *net, const uint8_t *from, int64_t align) {
    copy(net, &net->tensors[0], (uint8_t *)from, align, 1);
}

void cnn_get_outputs(cnn_net *net, uint8_t *to, int64_t align) {
    for (uint32_t i = 0; i < net->given; i++) {
        if (cnn_is_output(net, i)) {
            copy(net, &net->tensors[i], to, align, 0);
            to += cnn_size(net, &net->tensors[i], align);
        }
    }
}
