/* Programs of Ethos-U as a kernel: decoded once, when a network is planned. */
#include "ethosu.h"

#include <string.h>

#include "weights.h"

int eu_program_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_ethosu *p = params;
    const struct {
        const char *name;
        int32_t value, low;
    } parameters[] = {
        {"in_bytes", p->in_bytes, 0},
        {"out_bytes", p->out_bytes, 1},
        {"command_bytes", p->command_bytes, 4},
        {"constant_bytes", p->constant_bytes, 0},
        {"program_bytes", p->program_bytes, (int32_t)sizeof(eu_program)},
        {"scratch_bytes", p->scratch_bytes, 1},
        {"operations", p->operations, 0},
    };
    int status = QN_OK;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == QN_OK; i++) {
        status =
            qn_in_range(parameters[i].name, parameters[i].value, parameters[i].low, 1 << 30, why);
    }
    sizes->in[0] = p->in_bytes;
    sizes->weights = p->command_bytes;
    sizes->bias = p->constant_bytes;
    sizes->out = p->out_bytes;
    return status;
}

static int64_t scratch(const void *params) { return ((const qn_ethosu *)params)->scratch_bytes; }

static int64_t packed(const void *params) { return ((const qn_ethosu *)params)->program_bytes; }

/* Decode into the packed memory. A program that does not match its parameters is not valid. */
static void pack(const void *params, const void *weights, const void *bias, void *memory) {
    const qn_ethosu *p = params;
    eu_program found;
    char why[QN_WHY];
    eu_decode(weights, p->command_bytes, bias, p->constant_bytes, memory, p->program_bytes, &found,
              why);
    const eu_place *places = (const eu_place *)(const void *)((uint8_t *)memory + found.places_at);
    int64_t bytes[2] = {0, 0};
    for (int32_t i = 0; found.is_valid && i < found.inputs + found.outputs; i++) {
        bytes[i >= found.inputs] += places[i].bytes;
    }
    int fits = bytes[0] == p->in_bytes && bytes[1] == p->out_bytes &&
               found.scratch_bytes <= p->scratch_bytes && p->operations <= found.operations;
    ((eu_program *)memory)->is_valid = found.is_valid && fits;
}

static int run(const void *params, const qn_buffers *b) {
    const qn_ethosu *p = params;
    const eu_program *program = b->packed;
    if (!program->is_valid) {
        return QN_REFUSED;
    }
    return eu_run(program, p->operations, b->bias, b->in[0], b->out, b->scratch, NULL);
}

const qn_functions eu_program_ref = {run, scratch, packed, pack, qn_always_pays};

int qn_ethosu_inspect(const void *commands, int64_t command_bytes, const void *constants,
                      int64_t constant_bytes, qn_ethosu_needs *needs, char *why) {
    eu_program found;
    int status =
        eu_decode(commands, command_bytes, constants, constant_bytes, NULL, 0, &found, why);
    needs->program_bytes = found.program_bytes;
    needs->scratch_bytes = found.scratch_bytes;
    needs->macs = found.macs;
    needs->operations = found.operations;
    needs->oddities = found.oddities;
    memcpy(needs->used, found.region_used, sizeof needs->used);
    return status;
}

int64_t qn_ethosu_weights(const void *stream, int64_t bytes, int32_t fast, int16_t *out,
                          int64_t capacity) {
    return eu_decode_weights(stream, bytes, fast, out, capacity);
}

static int check_bytes(const qn_ethosu_bytes *p, char *why) {
    if (p->width != 1 && p->width != 2 && p->width != 4 && p->width != 8) {
        return qn_deny(why, QN_REFUSED, "width must be 1, 2, 4 or 8, is %ld", (long)p->width);
    }
    int status = qn_in_range("length", p->length, 1, INT32_MAX / p->width, why);
    return status == QN_OK ? qn_in_range("others", p->others, 0, 1 << 30, why) : status;
}

int eu_append_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_ethosu_bytes *p = params;
    sizes->in[0] = (int64_t)p->length * p->width;
    sizes->in[1] = p->others;
    sizes->out = sizes->in[0] + p->others;
    return check_bytes(p, why);
}

int eu_append_ref(const void *params, const qn_buffers *b) {
    const qn_ethosu_bytes *p = params;
    if (p->others) {
        memcpy(b->out, b->in[1], (size_t)p->others);
    }
    memcpy((uint8_t *)b->out + p->others, b->in[0], (size_t)p->length * (size_t)p->width);
    return QN_OK;
}

int eu_take_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_ethosu_bytes *p = params;
    sizes->in[0] = p->others;
    sizes->out = (int64_t)p->length * p->width;
    int status = check_bytes(p, why);
    if (status == QN_OK && (p->offset < 0 || p->offset + sizes->out > p->others)) {
        status = qn_deny(why, QN_REFUSED, "%lld bytes at %ld are not inside of %ld",
                         (long long)sizes->out, (long)p->offset, (long)p->others);
    }
    return status;
}

int eu_take_ref(const void *params, const qn_buffers *b) {
    const qn_ethosu_bytes *p = params;
    memcpy(b->out, (const uint8_t *)b->in[0] + p->offset, (size_t)p->length * (size_t)p->width);
    return QN_OK;
}
