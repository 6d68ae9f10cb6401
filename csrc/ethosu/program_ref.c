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
    int64_t in_bytes = 0;
    for (int32_t i = 0; found.is_valid && i < found.inputs; i++) {
        in_bytes += places[i].bytes;
    }
    int fits = in_bytes == p->in_bytes && found.output_bytes + found.trace_bytes == p->out_bytes &&
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

/* Add bytes to a hash (FNV-1a). */
static uint64_t add_hash(uint64_t hash, const void *bytes, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
    return hash;
}

/* Hash the settings that all operations on one layer share. */
static int64_t hash_settings(const eu_operation *op) {
    const int64_t fields[] = {
        op->kind,         op->mode,       op->kernel_h,     op->kernel_w,    op->stride_h,
        op->stride_w,     op->dilation_h, op->dilation_w,   op->upscale,     op->is_scaled,
        op->per_channel,  op->scale.mult, op->scale.shift,  op->function,    op->table,
        op->table_at,     op->low,        op->high,         op->zero,        op->transpose,
        op->reverse,      op->in.zero,    op->in2.zero,     op->a.scalar,    op->b.scalar,
        op->a.scale.mult, op->out.region, op->b.scale.mult, op->out.element, op->out.stride_y,
        op->out.stride_x, op->columns,    op->in.region,    op->in.stride_y,
    };
    return (int64_t)add_hash(0xcbf29ce484222325u, fields, sizeof fields);
}

/* Hash weights and scales of an operation; 0 without weights. */
static int64_t hash_weights(const eu_operation *op, const uint8_t *block) {
    if ((op->kind != EU_CONV && op->kind != EU_DEPTHWISE) || op->operand_weights) {
        return 0;
    }
    int64_t count = (int64_t)op->kernel_h * op->kernel_w * op->channels;
    count *= op->kind == EU_DEPTHWISE ? 1 : op->in.channels;
    uint64_t hash = add_hash(0xcbf29ce484222325u, block + op->weights, 2 * count);
    const eu_channel *channels = (const eu_channel *)(const void *)(block + op->scales);
    for (int32_t c = 0; c < op->channels; c++) {
        hash = add_hash(hash, &channels[c].bias, sizeof channels[c].bias);
    }
    return (int64_t)hash;
}

static qn_ethosu_operation describe(const eu_operation *op, const uint8_t *block) {
    const eu_map *m = &op->out;
    return (qn_ethosu_operation){
        .kind = op->kind,
        .mode = op->mode,
        .command = op->command,
        .rows = op->keeps ? 0 : m->rows,
        .columns = m->columns,
        .channels = m->channels,
        .element = m->element,
        .is_signed = m->is_signed,
        .region = m->region,
        .has_bricks = m->has_bricks,
        .tile_rows = m->height0,
        .base = m->base[0],
        .low_base = m->base[2],
        .stride_y = m->stride_y,
        .stride_x = m->stride_x,
        .stride_c = m->stride_c,
        .in_base = op->in.base[0],
        .macs = op->macs,
        .settings = hash_settings(op),
        .weights = hash_weights(op, block),
    };
}

int qn_ethosu_list(const void *commands, int64_t command_bytes, const void *constants,
                   int64_t constant_bytes, void *program, int64_t program_bytes,
                   qn_ethosu_operation *list, char *why) {
    eu_program found;
    int status = eu_decode(commands, command_bytes, constants, constant_bytes, program,
                           program_bytes, &found, why);
    if (status != QN_OK) {
        return status;
    }
    const eu_operation *operations =
        (const eu_operation *)(const void *)((const uint8_t *)program + found.operations_at);
    for (int32_t i = 0; i < found.operations; i++) {
        list[i] = describe(&operations[i], program);
    }
    return QN_OK;
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
