/* Maps of bricks that only operations read, made dense at plan time: rows of s8 read dense maps.
 *
 * Maps that operations share are a class: they change together, or not at all. Two shadows of the
 * memory prove the change. Each has the number of the element that each byte belongs to, one in the
 * layout of the stream, one in the new layout. Every operation must read the same elements from
 * both; a class with a map that does not is changed back. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of bytes that are zero at the start of a run, and of bytes that no operation computes.
 * Numbers of two maps never follow each other. */
enum { ZERO = 0, RAW = 1, FIRST = 3 };

enum { INPUT, INPUT_2, OUTPUT, MAPS, ROUNDS = 4 };

/* A class of maps: its dense map, and whether it may change. */
typedef struct class {
    int64_t low, stride_y, stride_x, stride_c, channels;
    int32_t region, element, is_known, stays;
} class;

typedef struct layout {
    eu_program *program;
    eu_operation *list;
    int32_t count;
    uint32_t *before, *after; /* shadows */
    eu_map *given;            /* maps of the stream: MAPS for each operation */
    int32_t *parents;         /* of each map, then of all bytes that no operation computes */
    class *classes;
    uint32_t *starts; /* the number of each operation's first element */
    int32_t reads_zeros, is_equal;
} layout;

static eu_map *map_at(const layout *l, int32_t index) {
    eu_operation *op = &l->list[index / MAPS];
    return index % MAPS == INPUT ? &op->in : index % MAPS == INPUT_2 ? &op->in2 : &op->out;
}

static int32_t class_of(const layout *l, int32_t index) {
    while (l->parents[index] != index) {
        l->parents[index] = l->parents[l->parents[index]];
        index = l->parents[index];
    }
    return index;
}

static void join(const layout *l, int32_t a, int32_t b) {
    l->parents[class_of(l, a)] = class_of(l, b);
}

/* Return the map whose element has a number. */
static int32_t writer_of(const layout *l, uint32_t number) {
    int32_t low = 0, high = l->count;
    while (number >= FIRST && high - low > 1) {
        int32_t middle = (low + high) / 2;
        if (l->starts[middle] <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return number < FIRST ? MAPS * l->count : MAPS * low + OUTPUT;
}

static void stay(const layout *l, int32_t index) { l->classes[class_of(l, index)].stays = 1; }

/* Note that a reader, an index of a map, sees bytes of both shadows. */
static void read_bytes(layout *l, int32_t reader, const uint32_t *before, const uint32_t *after,
                       int64_t count) {
    uint32_t last = UINT32_MAX, differs = 0;
    for (int64_t i = 0; i < count; i++) {
        differs |= before[i] ^ after[i];
    }
    for (int64_t i = 0; differs && i < count; i++) {
        if (before[i] != after[i]) {
            stay(l, reader);
            stay(l, writer_of(l, after[i]));
            l->is_equal = 0;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        l->reads_zeros |= before[i] == ZERO;
        if (i == 0 || before[i] != last + 1) {
            join(l, writer_of(l, before[i]), reader);
        }
        last = before[i];
    }
}

/* Visit the pieces of a map: read them, or write numbers from start on. */
static void visit(layout *l, int32_t index, int writes, uint32_t start) {
    const eu_map *old = &l->given[index], *new = map_at(l, index);
    if (old->region == 0) {
        join(l, index, MAPS * l->count);
        return;
    }
    int64_t at = l->program->region_at[old->region], bytes = l->program->region_bytes[old->region];
    int32_t step = old->has_bricks ? 16 : old->channels;
    for (int32_t y = 0; y < old->rows; y++) {
        for (int32_t x = 0; x < old->columns; x++) {
            int64_t from = eu_offset(old, y, x), to = eu_offset(new, y, x);
            int64_t next = new->has_bricks ? new->stride_c : (int64_t)16 * new->element;
            for (int32_t c = 0; c < old->channels; c += step, from += old->stride_c, to += next) {
                int32_t left = old->channels - c < step ? old->channels - c : step;
                int64_t count = (int64_t)left * old->element;
                uint32_t *before = l->before + at + from, *after = l->after + at + to;
                if (to < 0 || to + count > bytes) {
                    stay(l, index);
                    l->is_equal = 0;
                } else if (!writes) {
                    read_bytes(l, index, before, after, count);
                } else {
                    for (int64_t i = 0; i < count; i++) {
                        before[i] = after[i] = start++;
                    }
                }
            }
        }
    }
}

static void read_table(layout *l, const eu_operation *op) {
    int64_t bytes = op->table == EU_TABLE_8    ? 256
                    : op->table == EU_TABLE_16 ? 512
                    : op->table == EU_TABLE_32 ? 1024
                                               : EU_TABLE_BYTES;
    int64_t at = l->program->region_at[EU_TABLES] + op->table_at;
    read_bytes(l, MAPS * l->count, l->before + at, l->after + at, bytes);
}

static void copy_shadows(layout *l, const eu_copy *c) {
    const int64_t *at = l->program->region_at;
    for (int64_t i = 0; i < c->planes * c->rows; i++) {
        int64_t z = i / c->rows, y = i % c->rows;
        int64_t to = at[c->to] + c->destination + z * c->destination_plane + y * c->destination_row;
        int64_t from = at[c->from] + c->source + z * c->source_plane + y * c->source_row;
        if (c->from == 0) {
            for (int64_t k = 0; k < c->bytes; k++) {
                l->before[to + k] = l->after[to + k] = RAW;
            }
            continue;
        }
        read_bytes(l, MAPS * l->count, l->before + from, l->after + from, c->bytes);
        memmove(l->before + to, l->before + from, (size_t)c->bytes * sizeof *l->before);
        memmove(l->after + to, l->after + from, (size_t)c->bytes * sizeof *l->after);
    }
}

static void visit_operation(layout *l, int32_t index) {
    const eu_operation *op = &l->list[index];
    if (op->kind == EU_DMA) {
        copy_shadows(l, &op->copy);
        return;
    }
    const eu_operand *in = op->is_swapped ? &op->b : &op->a,
                     *in2 = op->is_swapped ? &op->a : &op->b;
    int pairs = op->kind == EU_ELEMENTWISE;
    if (op->in.rows && !(pairs && in->is_scalar)) {
        visit(l, MAPS * index + INPUT, 0, 0);
    }
    if (op->in2.rows && (pairs ? !in2->is_scalar : op->operand_weights)) {
        visit(l, MAPS * index + INPUT_2, 0, 0);
    }
    if (op->table) {
        read_table(l, op);
    }
    if (!op->keeps) {
        visit(l, MAPS * index + OUTPUT, 1, l->starts[index]);
    }
    if (op->traced) {
        visit(l, MAPS * index + OUTPUT, 0, 0);
    }
}

/* Follow a run in both shadows. */
static void follow(layout *l) {
    const eu_program *p = l->program;
    const eu_place *places = (const eu_place *)(const void *)((const uint8_t *)p + p->places_at);
    memset(l->before, 0, (size_t)p->work_at * sizeof *l->before);
    memset(l->after, 0, (size_t)p->work_at * sizeof *l->after);
    l->is_equal = 1;
    l->reads_zeros = 0;
    for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
        int64_t at = p->region_at[places[i].region] + places[i].offset;
        if (i == p->inputs) {
            for (int32_t k = 0; k < l->count; k++) {
                visit_operation(l, k);
            }
        }
        if (places[i].region == 0) {
            continue;
        }
        if (i >= p->inputs) {
            read_bytes(l, MAPS * l->count, l->before + at, l->after + at, places[i].bytes);
        }
        for (int64_t k = 0; i < p->inputs && k < places[i].bytes; k++) {
            l->before[at + k] = l->after[at + k] = RAW;
        }
    }
}

static int uses_base(const eu_map *m, int tile) {
    int right = m->columns > m->width0, height = tile & 1 ? m->height1 : m->height0;
    return (!(tile & 1) || right) && (!(tile & 2) || m->rows > height);
}

/* Add a map to its class. */
static void describe(const layout *l, int32_t index) {
    const eu_map *m = &l->given[index];
    class *c = &l->classes[class_of(l, index)];
    if (!c->is_known) {
        c->is_known = 1;
        c->low = INT64_MAX;
        c->channels = 0;
        c->stride_y = m->stride_y;
        c->stride_x = m->stride_x;
        c->stride_c = m->stride_c;
        c->region = m->region;
        c->element = m->element;
    }
    int is_alike = m->has_bricks && m->region == c->region && m->element == c->element &&
                   m->stride_y == c->stride_y && m->stride_x == c->stride_x &&
                   m->stride_c == c->stride_c;
    int is_regular = m->stride_x == 16 * (int64_t)m->element && m->stride_c > 0 &&
                     m->stride_c % m->stride_x == 0 && m->stride_y > 0 &&
                     m->stride_y % m->stride_c == 0;
    c->stays |= !is_alike || !is_regular;
    for (int tile = 0; tile < 4; tile++) {
        c->low = uses_base(m, tile) && m->base[tile] < c->low ? m->base[tile] : c->low;
    }
}

/* Return the first channel of a map in its class. */
static int64_t channel_of(const class *c, int64_t base) {
    return (base - c->low) % c->stride_y / c->stride_c * 16;
}

static void make_dense(const class *c, const eu_map *given, eu_map *m) {
    int64_t pixel = c->channels * c->element, row = c->stride_c / c->stride_x * pixel;
    for (int tile = 0; tile < 4; tile++) {
        int64_t at = given->base[tile] - c->low;
        int64_t x = at % c->stride_c / c->stride_x;
        m->base[tile] = c->low + at / c->stride_y * row + x * pixel +
                        channel_of(c, given->base[tile]) * c->element;
    }
    m->has_bricks = 0;
    m->stride_x = pixel;
    m->stride_y = row;
    m->stride_c = c->element;
}

/* True if an operation has a map that a run reads or writes. */
static int is_map(const layout *l, int32_t index) {
    return l->list[index / MAPS].kind != EU_DMA && l->given[index].rows > 0;
}

/* Change the maps of each class that may change, and no map of others. */
static void change(layout *l) {
    int32_t count = MAPS * l->count;
    for (int32_t i = 0; i < count; i++) {
        *map_at(l, i) = l->given[i];
        if (is_map(l, i)) {
            describe(l, i);
        }
    }
    l->classes[class_of(l, count)].stays = 1;
    for (int32_t i = 0; i < count; i++) {
        class *c = &l->classes[class_of(l, i)];
        if (is_map(l, i) && !c->stays) {
            int64_t end = channel_of(c, l->given[i].base[0]) + l->given[i].channels;
            c->channels = end > c->channels ? end : c->channels;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        const class *c = &l->classes[class_of(l, i)];
        if (is_map(l, i) && !c->stays) {
            make_dense(c, &l->given[i], map_at(l, i));
        }
    }
}

/* Number the elements. Return 0 if there are too many, or an operation has no fixed order. */
static int number(layout *l) {
    uint64_t next = FIRST;
    for (int32_t i = 0; i < l->count; i++) {
        const eu_operation *op = &l->list[i];
        l->starts[i] = (uint32_t)next;
        next += op->kind == EU_DMA ? 0 : (uint64_t)(eu_cells(&op->out) * op->out.element) + 1;
        if (next >= UINT32_MAX || (op->kind == EU_DMA && op->copy.indexed) || op->goes_on) {
            return 0;
        }
        for (int32_t k = 0; k < MAPS; k++) {
            l->given[MAPS * i + k] = *map_at(l, MAPS * i + k);
        }
    }
    for (int32_t i = 0; i <= MAPS * l->count; i++) {
        l->parents[i] = i;
    }
    return 1;
}

static void lay_out(layout *l) {
    if (!number(l)) {
        return;
    }
    follow(l);
    l->program->needs_zeros = l->reads_zeros;
    for (int32_t round = 0; round < ROUNDS; round++) {
        change(l);
        follow(l);
        if (l->is_equal) {
            return;
        }
    }
    for (int32_t i = 0; i < MAPS * l->count; i++) {
        *map_at(l, i) = l->given[i];
    }
}

void eu_lay_out(eu_program *program, int32_t operations) {
    size_t count = (size_t)operations, maps = MAPS * count + 1, bytes = (size_t)program->work_at;
    uint8_t *block = (uint8_t *)program;
    layout l = {.program = program,
                .list = (eu_operation *)(void *)(block + program->operations_at),
                .count = operations,
                .before = malloc(bytes * sizeof(uint32_t) + 1),
                .after = malloc(bytes * sizeof(uint32_t) + 1),
                .given = malloc(maps * sizeof(eu_map)),
                .parents = malloc(maps * sizeof(int32_t)),
                .classes = calloc(maps, sizeof(class)),
                .starts = malloc((count + 1) * sizeof(uint32_t))};
    if (l.before && l.after && l.given && l.parents && l.classes && l.starts) {
        lay_out(&l);
    }
    free(l.before);
    free(l.after);
    free(l.given);
    free(l.parents);
    free(l.classes);
    free(l.starts);
}
