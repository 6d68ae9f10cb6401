/* The decoder of weight streams; see weights.h. */
#include "weights.h"

#include <stdlib.h>
#include <string.h>

enum { EU_SLICE = 1 << 15, EU_PALETTE = 32, EU_UNCOMPRESSED = 7, EU_NO_ZERO_RUNS = 6, EU_END = 7 };

/* Most symbols that one chunk begins. */
enum { EU_CHUNK = 12 };

typedef struct bits {
    const uint8_t *at;
    int64_t next, end; /* in bits */
    int failed;        /* a read after the end */
} bits;

static uint32_t take(bits *b, int count) {
    if (count > b->end - b->next) {
        b->failed = 1;
        b->next = b->end;
        return 0;
    }
    uint32_t value = 0;
    for (int have = 0; have < count;) {
        int offset = (int)(b->next & 7),
            part = 8 - offset < count - have ? 8 - offset : count - have;
        uint32_t byte = (uint32_t)b->at[b->next >> 3] >> offset;
        value |= (byte & ((1u << part) - 1u)) << have;
        have += part;
        b->next += part;
    }
    return value;
}

/* The head of a slice. entries, first: the palette, and the value of the first index after it. */
typedef struct slice {
    int zero_divisor, divisor, truncated, entries, index_bits;
    int64_t first;
    uint32_t palette[EU_PALETTE];
    int32_t weights, runs, starts_with_run;
} slice;

/* Symbols of one kind: quotients of the last chunk, the values complete so far. */
typedef struct symbols {
    int32_t *values;
    int64_t counter, begun, done;
    int64_t last[EU_CHUNK];
    int last_count;
} symbols;

static void begin_symbol(symbols *s, int64_t *quotients, int *count) {
    quotients[(*count)++] = s->counter;
    s->counter = 0;
    s->begun++;
}

/* Read the remainders of the symbols of the previous chunk, up to `most` values in all. */
static void complete(symbols *s, bits *b, int width, int64_t most) {
    for (int i = 0; i < s->last_count && s->done < most; i++) {
        int64_t value = (s->last[i] << width) | take(b, width);
        s->values[s->done++] = value > INT32_MAX ? INT32_MAX : (int32_t)value;
    }
}

static int bits_needed(int entries) {
    int width = 0;
    while (1 << width < entries) {
        width++;
    }
    return width;
}

/* Read the head of a slice after its zero divisor. Return 0 for a value that no stream has. */
static int read_head(bits *b, slice *s) {
    s->weights = (int32_t)take(b, 15) + 1;
    s->divisor = (int)take(b, 3);
    s->truncated = (int)take(b, 1);
    s->starts_with_run = (int)take(b, 1);
    if (s->starts_with_run) {
        s->first = take(b, 5);
        int more = (int)take(b, 5);
        s->entries = more ? more + 1 : 0;
        s->index_bits = (int)take(b, 3) + 2;
        for (int i = 0; i < s->entries; i++) {
            s->palette[i] = take(b, s->index_bits);
        }
    }
    s->runs = s->weights + (s->starts_with_run ? 1 : 0);
    int known = s->zero_divisor <= 3 || s->zero_divisor == EU_NO_ZERO_RUNS;
    return known && (s->divisor <= 5 || s->divisor == EU_UNCOMPRESSED);
}

static int32_t weight_of(const slice *s, int64_t index) {
    int64_t value = index < s->entries ? s->palette[index] : index - s->entries + s->first;
    int32_t magnitude = (int32_t)(value >> 1 & 0x1ff);
    return value & 1 ? -magnitude : magnitude;
}

/* Read all chunks of a slice. */
static void read_chunks(bits *b, const slice *s, symbols *w, symbols *z) {
    int runs = s->zero_divisor != EU_NO_ZERO_RUNS, raw = s->divisor == EU_UNCOMPRESSED;
    int width = raw ? (s->entries ? bits_needed(s->entries) : s->index_bits) : s->divisor;
    int has_w = 1, has_z = 1;
    while ((has_w || has_z) && !b->failed) {
        int64_t ahead = w->begun - z->begun, w_now[EU_CHUNK], z_now[EU_CHUNK];
        int w_count = 0, z_count = 0;
        has_w = (!runs || ahead < 8) && w->begun < s->weights;
        has_z = runs && ahead >= 0 && z->begun < s->runs;
        uint32_t unary0 = has_w && !raw ? take(b, EU_CHUNK) : 0;
        if (has_z) {
            int count = s->zero_divisor < 3 ? EU_CHUNK : 8;
            for (uint32_t unary = take(b, count), i = 0; i < (uint32_t)count; i++) {
                if (unary >> i & 1) {
                    z->counter++;
                } else {
                    begin_symbol(z, z_now, &z_count);
                }
            }
        }
        if (has_w) {
            uint32_t ones = 0;
            for (uint32_t rest = unary0; rest; rest &= rest - 1) {
                ones++;
            }
            uint32_t unary1 = take(b, (int)ones);
            for (int i = 0; i < (raw && width > 5 ? 8 : EU_CHUNK); i++) {
                int code = 0;
                if (unary0 >> i & 1) {
                    code = 1 + (int)(unary1 & 1);
                    unary1 >>= 1;
                }
                w->counter += code;
                if (code < 2 || s->truncated) {
                    begin_symbol(w, w_now, &w_count);
                }
            }
        }
        complete(w, b, width, s->weights);
        complete(z, b, runs ? s->zero_divisor : 0, s->runs);
        memcpy(w->last, w_now, sizeof w_now[0] * (size_t)w_count);
        memcpy(z->last, z_now, sizeof z_now[0] * (size_t)z_count);
        w->last_count = w_count;
        z->last_count = z_count;
    }
}

/* Write weights and runs of zeros of a slice. Return the new count, or a status. */
static int64_t write_slice(const slice *s, const symbols *w, const symbols *z, int16_t *out,
                           int64_t count, int64_t capacity) {
    int runs = s->zero_divisor != EU_NO_ZERO_RUNS;
    if (w->done < s->weights || (runs && z->done < s->runs)) {
        return EU_STREAM_SHORT;
    }
    for (int64_t i = -1, run = 0; i < s->weights; i++) {
        if (i >= 0) {
            if (count == capacity) {
                return EU_STREAM_LONG;
            }
            out[count++] = (int16_t)weight_of(s, w->values[i]);
        }
        if (runs && (i >= 0 || s->starts_with_run)) {
            int64_t zeros = z->values[run++];
            if (zeros > capacity - count) {
                return EU_STREAM_LONG;
            }
            memset(out + count, 0, (size_t)zeros * sizeof *out);
            count += zeros;
        }
    }
    return count;
}

static int64_t decode_standard(bits *b, int32_t *memory, int16_t *out, int64_t capacity) {
    slice s = {0};
    int64_t count = 0;
    while (b->next < b->end && count >= 0) {
        s.zero_divisor = (int)take(b, 3);
        if (s.zero_divisor == EU_END) {
            b->next = (b->next + 7) / 8 * 8;
            continue;
        }
        if (!read_head(b, &s)) {
            return b->failed ? EU_STREAM_SHORT : EU_STREAM_DAMAGED;
        }
        symbols w = {.values = memory}, z = {.values = memory + EU_SLICE};
        read_chunks(b, &s, &w, &z);
        count = b->failed ? EU_STREAM_SHORT : write_slice(&s, &w, &z, out, count, capacity);
    }
    return count;
}

static int64_t decode_fast(bits *b, int16_t *out, int64_t capacity) {
    int raw = (int)take(b, 1), small = (int)take(b, 1);
    b->next = 104;
    int32_t adjust = (int8_t)(uint8_t)take(b, 8), values[16];
    for (int i = 0; i < 16; i++) {
        uint32_t value = take(b, 9);
        values[i] = value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
    }
    int width = raw ? 8 : small ? 2 : 4;
    if (capacity > (b->end - b->next) / width) {
        return EU_STREAM_SHORT;
    }
    for (int64_t i = 0; i < capacity; i++) {
        uint32_t code = take(b, width);
        out[i] = (int16_t)(raw ? (int8_t)(uint8_t)code - adjust : values[code]);
    }
    return capacity;
}

int64_t eu_decode_weights(const uint8_t *stream, int64_t bytes, int fast, int16_t *out,
                          int64_t capacity) {
    bits b = {.at = stream, .end = 8 * bytes};
    if (fast) {
        return decode_fast(&b, out, capacity);
    }
    int32_t *memory = malloc(sizeof *memory * (2 * EU_SLICE + 1));
    int64_t count = memory ? decode_standard(&b, memory, out, capacity) : EU_STREAM_MEMORY;
    free(memory);
    return count;
}
