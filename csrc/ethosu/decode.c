/* The decoder of command streams: words to a program that stays inside of its regions. */
#include <stdlib.h>
#include <string.h>

#include "../common/contract.h"
#include "program.h"
#include "run.h"
#include "weights.h"

/* Limits of one operation: elements of a map, weights, bytes of a region. */
#define EU_MOST_ELEMENTS ((int64_t)1 << 28)
#define EU_MOST_BYTES ((int64_t)1 << 30)

/* Limits of a program: steps of decoding (weights, pixels, rows of copies), and of a run: elements
 * of maps, and products. A network of vela needs less than a hundredth of these. */
#define EU_MOST_STEPS ((int64_t)1 << 29)
#define EU_MOST_CELLS ((int64_t)1 << 29)
#define EU_MOST_MACS ((int64_t)1 << 36)

/* Operations and registers of kind 0. */
enum {
    OP_STOP = 0,
    OP_IRQ = 1,
    OP_CONV = 2,
    OP_DEPTHWISE = 3,
    OP_POOL = 5,
    OP_ELEMENTWISE = 6,
    OP_RESIZE = 7,
    OP_DMA = 16,
    OP_DMA_WAIT = 17,
    OP_KERNEL_WAIT = 18,
    OP_PMU_MASK = 19,
    PAD_TOP = 256,
    PAD_LEFT = 257,
    PAD_RIGHT = 258,
    PAD_BOTTOM = 259,
    IFM_DEPTH = 260,
    IFM_PRECISION = 261,
    IFM_UPSCALE = 263,
    IFM_BROADCAST = 264,
    IFM_ZERO = 265,
    IFM_WIDTH0 = 266,
    IFM_REGION = 271,
    OFM_WIDTH = 273,
    OFM_HEIGHT = 274,
    OFM_DEPTH = 275,
    OFM_PRECISION = 276,
    OFM_BLOCK_DEPTH = 279,
    OFM_ZERO = 280,
    OFM_WIDTH0 = 282,
    OFM_REGION = 287,
    KERNEL_WIDTH = 288,
    KERNEL_HEIGHT = 289,
    KERNEL_STRIDE = 290,
    PARALLEL_MODE = 291,
    ACC_FORMAT = 292,
    ACTIVATION = 293,
    ACTIVATION_MIN = 294,
    ACTIVATION_MAX = 295,
    WEIGHT_REGION = 296,
    SCALE_REGION = 297,
    RESIZE_X_N = 298,
    RESIZE_Y_N = 299,
    RESIZE_X_OFFSET = 300,
    RESIZE_Y_OFFSET = 301,
    WEIGHT_FORMAT = 302,
    DMA_SOURCE_REGION = 304,
    DMA_TARGET_REGION = 305,
    DMA_SIZE0 = 306,
    DMA_SIZE1 = 307,
    DMA_INDEX_REGION = 308,
    IFM2_BROADCAST = 384,
    IFM2_SCALAR = 385,
    IFM2_PRECISION = 389,
    IFM2_ZERO = 393,
    IFM2_WIDTH0 = 394,
    IFM2_REGION = 399
};

/* Registers of kind 1. */
enum {
    IFM_BASE = 0,
    IFM_STRIDE = 4,
    OFM_BASE = 16,
    OFM_STRIDE = 20,
    WEIGHT_BASE = 32,
    WEIGHT_LENGTH = 33,
    SCALE_BASE = 34,
    SCALE_LENGTH = 35,
    OFM_SCALE = 36,
    OPA_SCALE = 37,
    OPB_SCALE = 38,
    OP_SCALAR = 39,
    DMA_SOURCE = 48,
    DMA_TARGET = 49,
    DMA_LENGTH = 50,
    DMA_STRIDE = 51,
    DMA_INDEX = 55,
    DMA_INDEX_SKIP = 57,
    IFM2_BASE = 128,
    IFM2_STRIDE = 132,
    WEIGHT1_BASE = 144,
    RESIZE_X = 150,
    RESIZE_Y = 151
};

enum { REGISTERS = 1024, OP_BRANCH = 256 };

/* A region's bytes as far as the stream alone decides them: copies of constants. */
typedef struct shadow {
    uint8_t *bytes, *known;
} shadow;

typedef struct decoder {
    const uint8_t *stream;
    const uint8_t *constants;
    int64_t words, at;
    uint16_t r0[REGISTERS], r1_high[REGISTERS];
    uint32_t r1[REGISTERS];
    int32_t product, macs_log2, decoders;
    shadow shadows[EU_REGIONS];
    eu_map chain[EU_REGIONS];
    int32_t kept[3]; /* rows, columns and channels of the accumulators that the last one keeps */
    uint8_t *block;  /* NULL: bytes are counted only */
    int64_t used, capacity, work, steps, cells, products;
    const uint8_t *traces; /* words of the places in the trace that are left */
    int64_t traces_left;
    eu_program *found;
    char *why;
} decoder;

static uint32_t word_at(const uint8_t *bytes, int64_t index) {
    uint32_t word;
    memcpy(&word, bytes + 4 * index, 4);
    return word;
}

static int refuse(decoder *d, const char *what, int64_t is) {
    return qn_deny(d->why, QN_REFUSED, "word %lld of its command stream: %s (%lld)",
                   (long long)d->at, what, (long long)is);
}

/* Return a * b of numbers that are not negative, or 2^62 if that is less. */
static int64_t times(int64_t a, int64_t b) {
    int64_t most = (int64_t)1 << 62;
    return b && a > most / b ? most : a * b;
}

/* Count steps of decoding; a damaged stream may ask for more than anybody waits for. */
static int spend(decoder *d, int64_t steps) {
    d->steps += steps > EU_MOST_STEPS ? EU_MOST_STEPS + 1 : steps;
    return d->steps <= EU_MOST_STEPS ? QN_OK : refuse(d, "its program is too large", d->steps);
}

/* A register of 40 bits: an address, or a stride in two's complement. */
static int64_t long_register(const decoder *d, int at) {
    return (int64_t)d->r1[at] | (int64_t)(d->r1_high[at] & 0xff) << 32;
}

static int64_t stride_register(const decoder *d, int at) {
    int64_t value = long_register(d, at);
    return value >> 39 & 1 ? value - ((int64_t)1 << 40) : value;
}

/* Reserve bytes in the block; the offset is a multiple of 8. Offsets count without a block, too. */
static int64_t reserve(decoder *d, int64_t bytes) {
    int64_t at = d->used;
    d->used += (bytes + 15) / 16 * 16;
    return at;
}

static int is_full(const decoder *d) { return d->block && d->used > d->capacity; }

/* ---- Feature maps ---- */

typedef struct extent {
    int64_t low, high;
} extent;

static void widen(extent *e, int64_t offset, int64_t bytes) {
    e->low = offset < e->low ? offset : e->low;
    e->high = offset + bytes > e->high ? offset + bytes : e->high;
}

/* The bytes of rows x columns of a tile. */
static void tile_extent(const eu_map *m, int64_t base, int64_t rows, int64_t columns, extent *e) {
    int64_t bricks = m->has_bricks ? (m->channels + 15) / 16 : 1;
    const int64_t some[3] = {0, bricks > 1 ? bricks - 2 : 0, bricks - 1};
    for (int corner = 0; corner < 4 && rows > 0 && columns > 0; corner++) {
        int64_t y = corner & 1 ? rows - 1 : 0, x = corner & 2 ? columns - 1 : 0;
        int64_t at = base + y * m->stride_y + x * m->stride_x;
        for (int i = 0; i < 3; i++) { /* the last brick may be smaller */
            int64_t channels = some[i] == bricks - 1 ? m->channels - 16 * some[i] : 16;
            widen(e, at + some[i] * m->stride_c, channels * m->element);
        }
    }
}

static extent map_extent(const eu_map *m) {
    extent e = {m->base[0], m->base[0]};
    int64_t left = m->columns < m->width0 ? m->columns : m->width0, right = m->columns - left;
    int64_t top0 = m->rows < m->height0 ? m->rows : m->height0;
    int64_t top1 = m->rows < m->height1 ? m->rows : m->height1;
    tile_extent(m, m->base[0], top0, left, &e);
    tile_extent(m, m->base[2], m->rows - top0, left, &e);
    tile_extent(m, m->base[1], top1, right, &e);
    tile_extent(m, m->base[3], m->rows - top1, right, &e);
    return e;
}

static void note_use(decoder *d, int region, int64_t end) {
    int64_t *used = &d->found->region_used[region];
    *used = end > *used ? end : *used;
}

static int check_map(decoder *d, const eu_map *m, const char *name) {
    if ((int64_t)m->rows * m->columns * m->channels > EU_MOST_ELEMENTS) {
        return refuse(d, "a feature map has too many elements", m->rows);
    }
    extent e = map_extent(m);
    int64_t bytes = d->found->region_bytes[m->region];
    if (e.low < 0 || e.high > bytes) {
        return qn_deny(d->why, QN_REFUSED,
                       "word %lld of its command stream: %s has bytes %lld to %lld of region %ld, "
                       "which has %lld",
                       (long long)d->at, name, (long long)e.low, (long long)e.high, (long)m->region,
                       (long long)bytes);
    }
    note_use(d, m->region, e.high);
    return QN_OK;
}

/* A dense map in a chaining buffer. */
static void chain_map(eu_map *m, int buffer, int rows, int columns, int channels) {
    m->region = EU_CHAIN + buffer;
    m->has_bricks = 0;
    m->stride_x = (int64_t)channels * m->element;
    m->stride_y = m->stride_x * columns;
    m->width0 = m->height0 = m->height1 = INT32_MAX;
    m->rows = rows, m->columns = columns, m->channels = channels;
    memset(m->base, 0, sizeof m->base);
}

/* Registers of a map: precision, zero point, first tile, region, first base, first stride. */
typedef struct map_registers {
    int precision, zero, tiles, region, base, stride;
} map_registers;

static const map_registers IFM = {IFM_PRECISION, IFM_ZERO, IFM_WIDTH0,
                                  IFM_REGION,    IFM_BASE, IFM_STRIDE};
static const map_registers IFM2 = {IFM2_PRECISION, IFM2_ZERO, IFM2_WIDTH0,
                                   IFM2_REGION,    IFM2_BASE, IFM2_STRIDE};
static const map_registers OFM = {OFM_PRECISION, OFM_ZERO, OFM_WIDTH0,
                                  OFM_REGION,    OFM_BASE, OFM_STRIDE};

static void read_registers(const decoder *d, const map_registers *r, eu_map *m) {
    uint16_t precision = d->r0[r->precision];
    m->is_signed = precision & 1;
    m->element = 1 << (precision >> (r->precision == OFM_PRECISION ? 1 : 2) & 3);
    m->has_bricks = (precision >> 6 & 3) == 1;
    m->zero = m->is_signed ? (int16_t)d->r0[r->zero] : d->r0[r->zero];
    m->width0 = d->r0[r->tiles] + 1;
    m->height0 = d->r0[r->tiles + 1] + 1;
    m->height1 = d->r0[r->tiles + 2] + 1;
    m->region = d->r0[r->region] & 7;
    for (int i = 0; i < 4; i++) {
        m->base[i] = long_register(d, r->base + i);
    }
    m->stride_x = stride_register(d, r->stride);
    m->stride_y = stride_register(d, r->stride + 1);
    m->stride_c = stride_register(d, r->stride + 2);
}

static int storage(const decoder *d, const map_registers *r) {
    return d->product == EU_U85 ? d->r0[r->precision] >> 14 : 0;
}

static int read_input(decoder *d, const map_registers *r, int rows, int columns, int channels,
                      eu_map *m) {
    read_registers(d, r, m);
    m->rows = rows, m->columns = columns, m->channels = channels;
    if (storage(d, r) == 2) {
        const eu_map *made = &d->chain[m->region];
        int32_t is_signed = m->is_signed, zero = m->zero;
        if (!made->rows) {
            return refuse(d, "it reads a chaining buffer that no operation writes", m->region);
        }
        if (made->element != m->element) {
            return refuse(d, "it reads a chaining buffer with elements of another size", m->region);
        }
        *m = *made;
        m->is_signed = is_signed, m->zero = zero;
        m->rows = rows, m->columns = columns, m->channels = channels;
    }
    return check_map(d, m, "an input");
}

/* Transposition of the U85: axes (rows, columns, channels) of the stored map, as computed axes. */
static const int8_t AXES[8][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0},
                                  {0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};

static int read_output(decoder *d, eu_operation *op) {
    const int32_t sides[3] = {op->rows, op->columns, op->channels};
    uint16_t precision = d->r0[OFM_PRECISION];
    read_registers(d, &OFM, &op->out);
    if (d->product == EU_U85) {
        op->reverse = precision >> 9 & 3;
        op->transpose = precision >> 11 & 7;
    }
    const int8_t *axes = AXES[op->transpose];
    op->out.rows = sides[axes[0]];
    op->out.columns = sides[axes[1]];
    op->out.channels = sides[axes[2]];
    if (op->out.element == 8) {
        return refuse(d, "its output has elements of 64 bits", 64);
    }
    if (storage(d, &OFM) == 2) {
        int buffer = op->out.region;
        chain_map(&op->out, buffer, op->out.rows, op->out.columns, op->out.channels);
        int64_t bytes = op->out.stride_y * op->out.rows;
        d->chain[buffer] = op->out;
        if (bytes > d->found->region_bytes[EU_CHAIN + buffer]) {
            d->found->region_bytes[EU_CHAIN + buffer] = bytes;
        }
    } else if (op->out.region == 0) {
        return refuse(d, "it writes to region 0, the constants", 0);
    }
    return check_map(d, &op->out, "its output");
}

/* ---- Constants in memory ---- */

static void forget(decoder *d, int region, int64_t offset, int64_t bytes) {
    if (region < EU_REGIONS && d->shadows[region].known) {
        memset(d->shadows[region].known + offset, 0, (size_t)bytes);
    }
}

/* Forget the bytes that an operation writes. */
static void forget_map(decoder *d, const eu_map *m) {
    int bricks = m->has_bricks ? (m->channels + 15) / 16 : 1;
    if (m->region >= EU_REGIONS || !d->shadows[m->region].known) {
        return;
    }
    for (int32_t y = 0; y < m->rows; y++) {
        for (int32_t x = 0; x < m->columns; x++) {
            int right = x >= m->width0;
            int32_t height = right ? m->height1 : m->height0, below = y >= height;
            int64_t at = m->base[right + 2 * below] + (y - (below ? height : 0)) * m->stride_y +
                         (x - (right ? m->width0 : 0)) * m->stride_x;
            for (int b = 0; b < bricks; b++) {
                int channels = b == bricks - 1 ? m->channels - 16 * b : 16;
                forget(d, m->region, at + (m->has_bricks ? b * m->stride_c : 0),
                       (int64_t)channels * m->element);
            }
        }
    }
}

/* Return constant bytes, or NULL with a sentence: an operation may have written them. */
static const uint8_t *find_constant(decoder *d, const char *what, int region, int64_t offset,
                                    int64_t bytes) {
    int64_t all = d->found->region_bytes[region];
    if (bytes > all - offset) {
        qn_deny(
            d->why, QN_REFUSED,
            "word %lld of its command stream: %s are bytes %lld to %lld of region %d, which has "
            "%lld",
            (long long)d->at, what, (long long)offset, (long long)(offset + bytes), region,
            (long long)all);
        return NULL;
    }
    note_use(d, region, offset + bytes);
    if (region == 0) {
        return d->constants + offset;
    }
    const shadow *s = &d->shadows[region];
    if (!s->known || memchr(s->known + offset, 0, (size_t)bytes)) {
        qn_deny(d->why, QN_REFUSED,
                "word %lld of its command stream: %s at byte %lld of region %d are no copy of "
                "constants; only constant weights and scales are supported",
                (long long)d->at, what, (long long)offset, region);
        return NULL;
    }
    return s->bytes + offset;
}

static int open_shadow(decoder *d, int region) {
    shadow *s = &d->shadows[region];
    size_t bytes = (size_t)d->found->region_bytes[region];
    if (!s->known) {
        s->bytes = calloc(bytes + 1, 1);
        s->known = calloc(bytes + 1, 1);
    }
    return s->bytes && s->known;
}

/* Follow a copy of bytes: constants stay known. */
static int follow_copy(decoder *d, int from, int64_t source, int to, int64_t target,
                       int64_t bytes) {
    if (to >= EU_REGIONS) {
        return QN_OK;
    }
    const uint8_t *data = d->constants + source, *known = NULL;
    if (from != 0) {
        data = d->shadows[from].known ? d->shadows[from].bytes + source : NULL;
        known = d->shadows[from].known ? d->shadows[from].known + source : NULL;
    }
    if (data == NULL) {
        forget(d, to, target, bytes);
        return QN_OK;
    }
    if (!open_shadow(d, to)) {
        return qn_deny(d->why, QN_REFUSED, "there is no memory for its %lld bytes",
                       (long long)d->found->region_bytes[to]);
    }
    memmove(d->shadows[to].bytes + target, data, (size_t)bytes);
    if (known) {
        memmove(d->shadows[to].known + target, known, (size_t)bytes);
    } else {
        memset(d->shadows[to].known + target, 1, (size_t)bytes);
    }
    return QN_OK;
}

/* ---- Scales ---- */

static eu_scale make_scale(int64_t mult, int shift, int rounding, int earlier) {
    int is_double = rounding == EU_DOUBLE || rounding == EU_DOUBLE_UP;
    int nudged = is_double && earlier <= 30 && shift > 31 - earlier;
    return (eu_scale){mult, shift, rounding, nudged ? (int64_t)1 << (30 - earlier) : 0};
}

/* Rounding of the output: of U55 and U65 in the precision, of the U85 in the scale. */
static void output_rounding(const decoder *d, int *rounding, int *earlier) {
    static const int8_t older[4] = {EU_DOUBLE, EU_TRUNCATE, EU_NATURAL, EU_NATURAL};
    *rounding = older[d->r0[OFM_PRECISION] >> 14];
    *earlier = 0;
    if (d->product == EU_U85) {
        *rounding = d->r1_high[OFM_SCALE] >> 13;
        *earlier = d->r1_high[OFM_SCALE] >> 6 & 31;
    }
}

static int check_rounding(decoder *d, int rounding, int earlier) {
    if (rounding > EU_FLOOR || earlier > 30) {
        return refuse(d, "its rounding does not exist", rounding);
    }
    return QN_OK;
}

/* Read the scale of the output. fraction: bits of it that the operation has added. */
static int output_scale(decoder *d, int fraction, eu_scale *scale) {
    int rounding, earlier, shift = (d->r1_high[OFM_SCALE] & 63) - fraction;
    if (shift < 0) {
        return refuse(d, "its shift is below 16, the fraction of RESIZE", shift + fraction);
    }
    output_rounding(d, &rounding, &earlier);
    *scale = make_scale(d->r1[OFM_SCALE], shift, rounding, earlier);
    return check_rounding(d, rounding, earlier);
}

/* A scale of an operand of the U85. */
static eu_scale operand_scale(const decoder *d, int at) {
    int high = d->r1_high[at];
    return make_scale(d->r1[at], high & 63, high >> 13 & 1, high >> 6 & 31);
}

static int64_t little_endian(const uint8_t *bytes, int count, int is_signed) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    uint64_t sign = (uint64_t)1 << (8 * count - 1);
    return is_signed && value & sign ? (int64_t)(value - 2 * sign) : (int64_t)value;
}

static eu_channel read_record(const decoder *d, const uint8_t *r, int rounding, int earlier) {
    eu_channel channel = {0};
    int64_t mult;
    int shift;
    if (d->product != EU_U85) {
        channel.bias = little_endian(r, 5, 1);
        mult = little_endian(r + 5, 4, 0);
        shift = r[9] & 63;
    } else if (d->r0[ACC_FORMAT] & 1) {
        channel.bias = little_endian(r, 6, 1);
        mult = little_endian(r + 6, 2, 0) & 0x7fff;
        shift = r[8] & 63;
    } else {
        channel.bias = little_endian(r, 4, 1);
        mult = little_endian(r + 4, 4, 0) & 0x7fffffff;
        shift = r[8] & 63;
    }
    channel.scale = make_scale(mult, shift, rounding, earlier);
    return channel;
}

enum { RECORD = 10 };

/* Read bias and scale of each output channel. On two cores the second has the odd channels. */
static int read_channels(decoder *d, eu_operation *op, int cores) {
    int rounding, earlier, region = d->r0[SCALE_REGION] & 7;
    output_rounding(d, &rounding, &earlier);
    op->scales = reserve(d, (int64_t)op->channels * (int64_t)sizeof(eu_channel));
    if (check_rounding(d, rounding, earlier) != QN_OK) {
        return QN_REFUSED;
    }
    for (int core = 0; core < cores; core++) {
        int at = core ? WEIGHT1_BASE + 2 : SCALE_BASE,
            count = (op->channels + cores - 1 - core) / cores;
        if ((int64_t)d->r1[at + 1] < (int64_t)RECORD * count) {
            return refuse(d, "it has fewer scales than channels; its bytes are", d->r1[at + 1]);
        }
        const uint8_t *records =
            find_constant(d, "its scales", region, long_register(d, at), (int64_t)RECORD * count);
        if (!records) {
            return QN_REFUSED;
        }
        for (int i = 0; i < count && d->block && !is_full(d); i++) {
            eu_channel *to = (eu_channel *)(void *)(d->block + op->scales);
            to[core + i * cores] = read_record(d, records + RECORD * i, rounding, earlier);
        }
    }
    return QN_OK;
}

/* ---- Weights ---- */

static int explain_stream(decoder *d, int64_t status, int64_t wanted) {
    const char *why = status == EU_STREAM_MEMORY    ? "there is no memory for its weights"
                      : status == EU_STREAM_LONG    ? "its weight stream has more weights than"
                      : status == EU_STREAM_DAMAGED ? "its weight stream is damaged; it needs"
                                                    : "its weight stream ends early; it needs";
    return refuse(d, why, wanted);
}

/* Decode one stream and put its weights into their places. */
static int read_stream(decoder *d, const eu_order *order, int stream, int16_t *dense) {
    int at = stream ? WEIGHT1_BASE + 2 * (stream - 1) : WEIGHT_BASE;
    int cores = order->fast ? order->cores : 1;
    int64_t taps = (int64_t)order->kernel_h * order->kernel_w * 2 + 16;
    if (spend(d, d->r1[at + 1] + taps * (order->out_channels + 64) *
                                     (order->depthwise ? 2 : order->in_channels + 128)) != QN_OK) {
        return QN_REFUSED;
    }
    int64_t count = eu_place_weights(order, NULL, NULL), all = count * cores;
    if (!count) {
        return refuse(d, "its microblock has no order of weights", order->microblock);
    }
    int64_t block = cores > 1 ? eu_fast_block(order) : count;
    if (count % block) {
        return refuse(d, "its weights have no order in the fast format", count);
    }
    const uint8_t *bytes = find_constant(d, "its weights", d->r0[WEIGHT_REGION] & 7,
                                         long_register(d, at), d->r1[at + 1]);
    if (!bytes) {
        return QN_REFUSED;
    }
    int16_t *weights = malloc(((size_t)all + 1) * sizeof *weights);
    int64_t have = weights ? eu_decode_weights(bytes, d->r1[at + 1], order->fast, weights, all)
                           : EU_STREAM_MEMORY;
    int status = have == all ? QN_OK : explain_stream(d, have, all);
    if (status == QN_OK && dense && cores == 1) {
        eu_place_weights(order, weights, dense);
    }
    if (status == QN_OK && dense && cores > 1) {
        int16_t *own = malloc(((size_t)count + 1) * sizeof *own);
        for (int core = 0; own && core < cores; core++) {
            eu_order of = *order;
            of.core = core;
            for (int64_t i = 0; i < count; i += block) {
                memcpy(own + i, weights + i * cores + core * block, (size_t)block * sizeof *own);
            }
            eu_place_weights(&of, own, dense);
        }
        status = own ? QN_OK : explain_stream(d, EU_STREAM_MEMORY, all);
        free(own);
    }
    free(weights);
    return status;
}

static int read_weights(decoder *d, eu_operation *op, int cores) {
    int depthwise = op->kind == EU_DEPTHWISE, is_u85 = d->product == EU_U85;
    int64_t each = (int64_t)op->kernel_h * op->kernel_w * (depthwise ? 1 : op->in.channels);
    int64_t count = each * op->channels;
    if (each > EU_MOST_ELEMENTS || count > EU_MOST_ELEMENTS) {
        return refuse(d, "it has too many weights", count);
    }
    op->macs = count * op->rows * op->columns;
    op->weights = reserve(d, count * (int64_t)sizeof(int16_t));
    int16_t *dense = d->block && !is_full(d) ? (int16_t *)(void *)(d->block + op->weights) : NULL;
    eu_order order = {.product = d->product,
                      .macs_log2 = d->macs_log2,
                      .microblock = d->r0[ACC_FORMAT] >> 8 & 7,
                      .depthwise = depthwise,
                      .part_kernel = d->r0[KERNEL_STRIDE] >> 2 & 1,
                      .sparse = is_u85 && d->r0[WEIGHT_FORMAT] >> 4 & 1,
                      .fast = is_u85 && d->r0[WEIGHT_FORMAT] & 1,
                      .in_element = op->in.element,
                      .out_channels = op->channels,
                      .in_channels = op->in.channels,
                      .kernel_h = op->kernel_h,
                      .kernel_w = op->kernel_w,
                      .stride_h = op->stride_h,
                      .stride_w = op->stride_w,
                      .dilation_h = op->dilation_h,
                      .dilation_w = op->dilation_w,
                      .block_depth = d->r0[OFM_BLOCK_DEPTH] + 1,
                      .cores = is_u85 ? d->decoders : cores};
    if (!is_u85 && cores == 2 && order.block_depth == 1) {
        return refuse(d, "its blocks have one channel; two cores need at least", 2);
    }
    int streams = order.fast ? 1 : order.cores, status = QN_OK;
    for (int stream = 0; stream < streams && status == QN_OK; stream++) {
        order.core = stream;
        int is_empty = !is_u85 && stream >= op->channels;
        status = is_empty ? QN_OK : read_stream(d, &order, stream, dense);
    }
    return status;
}

/* ---- Parts that operations share ---- */

static void read_kernel(const decoder *d, eu_operation *op) {
    uint16_t stride = d->r0[KERNEL_STRIDE];
    op->stride_w = 1 + ((stride & 1) | (stride >> 6 & 7) << 1);
    op->stride_h = 1 + ((stride >> 1 & 1) | (stride >> 9 & 7) << 1);
    op->dilation_w = 1 + (stride >> 3 & 1);
    op->dilation_h = 1 + (stride >> 4 & 1);
    op->kernel_w = d->r0[KERNEL_WIDTH] / op->dilation_w + 1;
    op->kernel_h = d->r0[KERNEL_HEIGHT] / op->dilation_h + 1;
    op->pad_top = d->r0[PAD_TOP] & 0x7f;
    op->pad_left = d->r0[PAD_LEFT] & 0x7f;
    op->upscale = d->r0[IFM_UPSCALE] & 3;
    op->in_rows = (op->rows - 1) * op->stride_h + d->r0[KERNEL_HEIGHT] + 1 - op->pad_top -
                  (d->r0[PAD_BOTTOM] & 0xff);
    op->in_columns = (op->columns - 1) * op->stride_w + d->r0[KERNEL_WIDTH] + 1 - op->pad_left -
                     (d->r0[PAD_RIGHT] & 0xff);
}

static int read_window_input(decoder *d, eu_operation *op, int channels) {
    int rows = op->in_rows, columns = op->in_columns;
    if (rows < 1 || columns < 1) {
        return refuse(d, "its windows cover no element of the input", rows < 1 ? rows : columns);
    }
    if (op->upscale) {
        if ((int64_t)rows * columns * channels > EU_MOST_ELEMENTS) {
            return refuse(d, "a feature map has too many elements", rows);
        }
        rows = (rows + 1) / 2;
        columns = (columns + 1) / 2;
    }
    return read_input(d, &IFM, rows, columns, channels, &op->in);
}

static int has_padding(const decoder *d) {
    return d->r0[PAD_TOP] || d->r0[PAD_LEFT] || d->r0[PAD_RIGHT] || d->r0[PAD_BOTTOM];
}

/* Tables of U55 and U65: the number of the function from 16 on, entries as wide as the output. */
static int older_table(const decoder *d, eu_operation *op, int code) {
    if (code < 16) {
        op->function = code == 3 ? EU_TANH : code == 4 ? EU_SIGMOID : EU_NO_FUNCTION;
        return code == 0 || code == 3 || code == 4;
    }
    (void)d;
    op->table_at = 256 * (code - 16);
    op->table_signed = op->out.is_signed;
    op->table = op->out.element == 1   ? EU_TABLE_8
                : op->out.element == 4 ? EU_TABLE_32
                                       : EU_TABLE_S16_S16;
    return 1;
}

static int newer_table(const decoder *d, eu_operation *op, int code) {
    static const int8_t tables[10] = {[1] = EU_TABLE_8,       [4] = EU_TABLE_8,
                                      [5] = EU_TABLE_16,      [7] = EU_TABLE_32,
                                      [8] = EU_TABLE_S16_S16, [9] = EU_TABLE_S16_S32};
    op->function = code == 10 ? EU_TANH : code == 11 ? EU_SIGMOID : EU_NO_FUNCTION;
    if (code == 0 || op->function) {
        return 1;
    }
    op->table = code < 10 ? tables[code] : EU_NO_TABLE;
    op->table_signed = code != 1;
    static const int16_t bytes[] = {[EU_TABLE_8] = 256,
                                    [EU_TABLE_16] = 512,
                                    [EU_TABLE_32] = 1024,
                                    [EU_TABLE_S16_S16] = 2048,
                                    [EU_TABLE_S16_S32] = 2048};
    op->table_at = (d->r0[ACTIVATION] >> 5 & 7) * bytes[op->table];
    return op->table != EU_NO_TABLE;
}

static int table_bytes(int table) {
    return table == EU_NO_TABLE   ? 0
           : table == EU_TABLE_8  ? 256
           : table == EU_TABLE_16 ? 512
           : table == EU_TABLE_32 ? 1024
                                  : 2048;
}

/* The end of an operation: zero point, clamp, function. */
static int read_activation(decoder *d, eu_operation *op) {
    int is_u85 = d->product == EU_U85, code = d->r0[ACTIVATION] & 31;
    if (!(is_u85 ? newer_table(d, op, code) : older_table(d, op, code))) {
        return refuse(d, "its activation function does not exist", code);
    }
    if (op->table_at + table_bytes(op->table) > EU_TABLE_BYTES) {
        return refuse(d, "its table reaches beyond the memory of tables", op->table_at);
    }
    int wide = op->out.element == 4 && op->table == EU_NO_TABLE;
    op->add_zero = !wide;
    op->zero = op->out.zero;
    op->is_clamped = !wide && !(is_u85 && d->r0[ACTIVATION] >> 12 & 1);
    uint16_t low = d->r0[ACTIVATION_MIN], high = d->r0[ACTIVATION_MAX];
    op->low = op->out.is_signed ? (int16_t)low : low;
    op->high = op->out.is_signed ? (int16_t)high : high;
    return QN_OK;
}

static int is_global(const decoder *d) { return d->r0[OFM_PRECISION] >> 8 & 1; }

/* ---- Operations ---- */

/* Cores that share the channels of an operation. */
static int cores_of(const decoder *d) {
    return d->product == EU_U65 && d->r0[PARALLEL_MODE] & 1 ? 2 : 1;
}

static int decode_conv(decoder *d, eu_operation *op, int parameter) {
    int depthwise = op->kind == EU_DEPTHWISE;
    int cores = cores_of(d);
    read_kernel(d, op);
    int status = read_window_input(d, op, depthwise ? op->channels : d->r0[IFM_DEPTH] + 1);
    if (status != QN_OK) {
        return status;
    }
    op->narrow = op->in.element == 1 && op->in.zero >= -256 && op->in.zero <= 256;
    op->operand_weights = d->product == EU_U85 && !depthwise && parameter & 1;
    op->per_channel = !is_global(d);
    op->is_scaled = 1;
    if (op->per_channel) {
        status = read_channels(d, op, cores);
    } else {
        status = output_scale(d, 0, &op->scale);
    }
    if (status == QN_OK && op->operand_weights) {
        op->macs = times((int64_t)op->rows * op->columns, (int64_t)op->channels * op->in.channels);
        if (op->kernel_h != 1 || op->kernel_w != 1) {
            return refuse(d, "its weights are a feature map, and its kernel is not 1 x 1",
                          op->kernel_h);
        }
        return read_input(d, &IFM2, 1, op->channels, op->in.channels, &op->in2);
    }
    return status == QN_OK ? read_weights(d, op, cores) : status;
}

/* True if the first or the last window has no element of the image. */
static int has_empty_windows(const decoder *d) {
    return d->r0[PAD_TOP] > d->r0[KERNEL_HEIGHT] || d->r0[PAD_BOTTOM] > d->r0[KERNEL_HEIGHT] ||
           d->r0[PAD_LEFT] > d->r0[KERNEL_WIDTH] || d->r0[PAD_RIGHT] > d->r0[KERNEL_WIDTH];
}

static int decode_pool(decoder *d, eu_operation *op, int mode) {
    int is_u85 = d->product == EU_U85;
    op->mode = mode;
    if (mode > (is_u85 ? EU_ARGMAX_Y : EU_REDUCE_SUM)) {
        return refuse(d, "its mode of pooling does not exist", mode);
    }
    read_kernel(d, op);
    int channels = mode == EU_REDUCE_SUM ? d->r0[IFM_DEPTH] + 1 : op->channels;
    if (mode == EU_REDUCE_SUM && op->channels != 1) {
        return refuse(d, "its sum over channels has more than one channel", op->channels);
    }
    const map_registers *from = mode == EU_NONE ? &IFM2 : &IFM;
    int status = mode == EU_NONE ? read_input(d, from, op->rows, op->columns, channels, &op->in)
                                 : read_window_input(d, op, channels);
    if (status != QN_OK) {
        return status;
    }
    op->macs = times(times((int64_t)op->kernel_h * op->kernel_w, (int64_t)op->rows * op->columns),
                     channels);
    op->upscale = mode == EU_NONE ? 0 : op->upscale;
    if ((mode == EU_MAX_POOL || mode == EU_MIN_POOL) && has_empty_windows(d)) {
        d->found->oddities |= QN_ETHOSU_EMPTY_WINDOWS;
    }
    op->counts_window = mode == EU_AVERAGE && (is_u85 || has_padding(d));
    op->is_scaled = is_global(d);
    int has_records =
        !is_global(d) && mode != EU_MAX_POOL && !op->counts_window && d->r1[SCALE_LENGTH];
    if (has_records && (is_u85 || (op->kernel_h == 1 && op->kernel_w == 1))) {
        op->per_channel = op->is_scaled = 1;
        return read_channels(d, op, cores_of(d));
    }
    return output_scale(d, 0, &op->scale);
}

/* Set how the operands of ADD and SUB are scaled on U55 and U65. */
static void older_operands(const decoder *d, eu_operation *op) {
    int mode = d->r0[IFM_PRECISION] >> 8 & 3, left = op->in.element == 2 ? 14 : 19;
    eu_scale scale = make_scale(d->r1[OPA_SCALE], d->r1_high[OPA_SCALE] & 63, EU_DOUBLE, left + 1);
    if (mode == 0) {
        op->a.scale = make_scale(d->r1[OPA_SCALE] & 0xffff, 0, EU_NATURAL, 0);
        op->b.scale = make_scale(d->r1[OPB_SCALE] & 0xffff, 0, EU_NATURAL, 0);
        op->a.is_scaled = op->b.is_scaled = op->in.element != 4;
        return;
    }
    eu_operand *scaled = mode == 1 ? &op->a : &op->b, *shifted = mode == 1 ? &op->b : &op->a;
    scaled->scale = scale;
    scaled->is_scaled = 1;
    shifted->shift_left = left;
}

static int has_second(int mode) {
    return mode != EU_LRELU && mode != EU_ABS && mode != EU_CLZ && mode != EU_NOT;
}

/* Read one operand: a scalar, or a map of which broadcast axes have one element. */
static int read_operand(decoder *d, eu_operation *op, const map_registers *r, int broadcast,
                        eu_map *m, eu_operand *operand) {
    int is_u85 = d->product == EU_U85;
    int scalar = is_u85 ? broadcast >> 3 & 1 : broadcast >> 7 & 1;
    if (!scalar) {
        return read_input(d, r, broadcast & 1 ? 1 : op->rows, broadcast & 2 ? 1 : op->columns,
                          broadcast & 4 ? 1 : op->channels, m);
    }
    read_registers(d, r, m);
    operand->is_scalar = 1;
    operand->scalar = is_u85         ? (int32_t)d->r1[OP_SCALAR]
                      : m->is_signed ? (int16_t)d->r0[IFM2_SCALAR]
                                     : d->r0[IFM2_SCALAR];
    operand->scalar -= m->element == 4 ? 0 : m->zero;
    return QN_OK;
}

static int decode_elementwise(decoder *d, eu_operation *op, int mode) {
    int is_u85 = d->product == EU_U85, known = mode <= (is_u85 ? EU_DIV : EU_SHL);
    known |= is_u85 && ((mode >= EU_CMP_EQ && mode <= EU_CMP_GT) ||
                        (mode >= EU_AND && mode <= EU_NOT) || mode == EU_AND_NOT);
    if (!known) {
        return refuse(d, "its elementwise operation does not exist", mode);
    }
    op->mode = mode;
    eu_operand first = {0}, second = {0};
    int status = read_operand(d, op, &IFM, is_u85 ? d->r0[IFM_BROADCAST] : 0, &op->in, &first);
    if (status == QN_OK && has_second(mode)) {
        status = read_operand(d, op, &IFM2, d->r0[IFM2_BROADCAST], &op->in2, &second);
    }
    op->is_swapped = !is_u85 && has_second(mode) && d->r0[IFM2_BROADCAST] >> 6 & 1;
    op->a = op->is_swapped ? second : first;
    op->b = op->is_swapped ? first : second;
    op->macs = (int64_t)op->rows * op->columns * op->channels;
    int wide = (first.is_scalar ? op->in2.element : op->in.element) == 4;
    if (mode == EU_DIV && !wide) {
        d->found->oddities |= QN_ETHOSU_RAW_DIVISION;
    }
    int adds = mode == EU_ADD || mode == EU_SUB;
    op->is_scaled = (adds || mode == EU_MUL || mode == EU_ABS) && is_global(d);
    if (is_u85) {
        int compares = mode >= EU_CMP_EQ && mode <= EU_CMP_GT;
        int scaled = adds || compares || mode == EU_MIN || mode == EU_MAX || mode == EU_ABS;
        op->a.scale = operand_scale(d, OPA_SCALE);
        op->b.scale = operand_scale(d, OPB_SCALE);
        op->a.is_scaled = op->b.is_scaled = scaled;
        op->is_scaled = scaled || mode == EU_MUL || mode == EU_LRELU;
    } else if (adds) {
        older_operands(d, op);
    }
    if (status == QN_OK) {
        status = output_scale(d, 0, &op->scale);
    }
    if (wide && (!is_u85 || mode == EU_MUL)) {
        op->scale.mult = 1; /* only the shift acts */
    }
    return status;
}

static eu_axis read_axis(const decoder *d, int n, int offset, int step) {
    int64_t parts = d->r0[n] + 1, whole = d->r1_high[step] & 15;
    int32_t shifted = (d->r0[offset] & 0xfff) - (d->r0[offset] & 0x800 ? 0x1000 : 0);
    return (eu_axis){parts, whole * parts + (d->r1[step] & 0x7ff), shifted};
}

static int decode_resize(decoder *d, eu_operation *op, int mode) {
    if (d->product != EU_U85 || (mode != EU_BILINEAR && mode != EU_NEAREST)) {
        return refuse(d, "its mode of resizing is not supported", mode);
    }
    op->mode = mode;
    op->x = read_axis(d, RESIZE_X_N, RESIZE_X_OFFSET, RESIZE_X);
    op->y = read_axis(d, RESIZE_Y_N, RESIZE_Y_OFFSET, RESIZE_Y);
    op->is_scaled = 1;
    op->macs = 4 * (int64_t)op->rows * op->columns * op->channels;
    int rows = d->r0[IFM_WIDTH0 + 1] + 1, columns = d->r0[IFM_WIDTH0] + 1;
    int status = read_input(d, &IFM, rows, columns, op->channels, &op->in);
    return status == QN_OK ? output_scale(d, 16, &op->scale) : status;
}

/* ---- DMA ---- */

static int32_t table_base(const decoder *d) {
    if (d->product == EU_U85) {
        return 0;
    }
    return d->product == EU_U65 || d->macs_log2 >= 8 ? 47104 : d->macs_log2 == 7 ? 22528 : 14336;
}

/* Find the region of one side of a copy, and make its address relative to the table memory. */
static int copy_side(const decoder *d, int at, int64_t *address) {
    uint16_t value = d->r0[at];
    if (value >> 8 & 1) {
        *address -= table_base(d);
        return EU_TABLES;
    }
    return value & 7;
}

/* Check one side; rows that an index selects are checked while the program runs. */
static int check_copy(decoder *d, int region, int64_t at, int64_t row, int64_t plane, int indexed,
                      const eu_copy *c) {
    extent e = {at, at};
    int64_t rows = indexed ? 1 : c->rows;
    for (int corner = 0; corner < 4; corner++) {
        int64_t y = corner & 1 ? rows - 1 : 0, z = corner & 2 ? c->planes - 1 : 0;
        widen(&e, at + y * row + z * plane, c->bytes);
    }
    if (e.low < 0 || e.high > d->found->region_bytes[region]) {
        return qn_deny(d->why, QN_REFUSED,
                       "word %lld of its command stream: a copy has bytes %lld to %lld of region "
                       "%d, which has %lld",
                       (long long)d->at, (long long)e.low, (long long)e.high, region,
                       (long long)d->found->region_bytes[region]);
    }
    note_use(d, region, e.high);
    return QN_OK;
}

static void read_planes(const decoder *d, eu_copy *c) {
    int dims = d->r0[DMA_SOURCE_REGION] >> 9 & 3;
    if (dims >= 1) {
        c->rows = d->r0[DMA_SIZE0];
        c->source_row = stride_register(d, DMA_STRIDE);
        c->destination_row = stride_register(d, DMA_STRIDE + 2);
    }
    if (dims >= 2) {
        c->planes = d->r0[DMA_SIZE1];
        c->source_plane = stride_register(d, DMA_STRIDE + 1);
        c->destination_plane = stride_register(d, DMA_STRIDE + 3);
    }
    if (d->r0[DMA_SOURCE_REGION] >> 11 & 1) {
        c->indexed = 1;
    } else if (d->r0[DMA_TARGET_REGION] >> 11 & 1) {
        c->indexed = 2;
    }
    c->indices = d->r0[DMA_INDEX_REGION] & 7;
    c->index_at = long_register(d, DMA_INDEX);
    c->index_plane = 4 * c->rows + stride_register(d, DMA_INDEX_SKIP);
}

static int decode_dma(decoder *d, eu_operation *op) {
    eu_copy *c = &op->copy;
    c->source = long_register(d, DMA_SOURCE);
    c->destination = long_register(d, DMA_TARGET);
    c->from = copy_side(d, DMA_SOURCE_REGION, &c->source);
    c->to = copy_side(d, DMA_TARGET_REGION, &c->destination);
    c->bytes = long_register(d, DMA_LENGTH);
    c->rows = c->planes = 1;
    if (c->bytes > EU_MOST_BYTES) {
        return refuse(d, "it copies too many bytes", c->bytes);
    }
    if (d->product == EU_U85) {
        read_planes(d, c);
    } else if (d->r0[DMA_SOURCE_REGION] >> 9 & 3) {
        return refuse(d, "copies of several rows are not supported on U55 and U65",
                      d->r0[DMA_SOURCE_REGION]);
    }
    if (c->rows < 1 || c->planes < 1) {
        return refuse(d, "it copies no rows", c->rows);
    }
    if (c->to == 0) {
        return refuse(d, "it writes to region 0, the constants", 0);
    }
    int status =
        check_copy(d, c->from, c->source, c->source_row, c->source_plane, c->indexed == 1, c);
    if (status == QN_OK) {
        status = check_copy(d, c->to, c->destination, c->destination_row, c->destination_plane,
                            c->indexed == 2, c);
    }
    if (status == QN_OK && c->indexed) {
        const eu_copy list = {.bytes = 4 * c->rows, .rows = 1, .planes = c->planes};
        status = check_copy(d, c->indices, c->index_at, 0, c->index_plane, 0, &list);
    }
    if (status == QN_OK) {
        status = spend(d, c->rows * c->planes * (1 + c->bytes / 64));
    }
    if (status == QN_OK && c->indexed == 2) { /* any row of the region */
        forget(d, c->to, 0, c->to < EU_REGIONS ? d->found->region_bytes[c->to] : 0);
        return QN_OK;
    }
    for (int64_t z = 0; z < c->planes && status == QN_OK; z++) {
        for (int64_t y = 0; y < c->rows && status == QN_OK; y++) {
            if (c->indexed == 1) {
                forget(d, c->to, c->destination + y * c->destination_row + z * c->destination_plane,
                       c->bytes);
            } else {
                status = follow_copy(
                    d, c->from, c->source + y * c->source_row + z * c->source_plane, c->to,
                    c->destination + y * c->destination_row + z * c->destination_plane, c->bytes);
            }
        }
    }
    return status;
}

/* ---- The stream ---- */

static int kind_of(int opcode) {
    switch (opcode) {
        case OP_CONV:
            return EU_CONV;
        case OP_DEPTHWISE:
            return EU_DEPTHWISE;
        case OP_POOL:
            return EU_POOL;
        case OP_ELEMENTWISE:
            return EU_ELEMENTWISE;
        case OP_RESIZE:
            return EU_RESIZE;
        case OP_DMA:
            return EU_DMA;
        default:
            return -1;
    }
}

/* Read how accumulators start and end. Kept ones must have the shape of the next operation. */
static int read_accumulator(decoder *d, eu_operation *op) {
    uint16_t format = d->r0[ACC_FORMAT];
    int start = format >> 4 & 3, pools = op->kind == EU_POOL;
    if (d->product != EU_U85) {
        return (format & 3) == 2
                   ? refuse(d, "its accumulator is float16; that is not supported", format)
                   : QN_OK;
    }
    op->goes_on = start == 1;
    op->keeps = format >> 6 & 1;
    if ((start == 2) != (pools && op->mode == EU_NONE) || start == 3) {
        return refuse(d, "its accumulators start as no operation of its kind does", format);
    }
    int joins = pools ? !op->counts_window && op->mode < EU_ARGMAX_X
                      : op->kind == EU_CONV || op->kind == EU_DEPTHWISE;
    if ((op->goes_on || op->keeps) && !joins) {
        return refuse(d, "operations of its kind do not keep accumulators", format);
    }
    const int32_t shape[3] = {op->rows, op->columns, op->channels};
    if (op->goes_on && memcmp(shape, d->kept, sizeof shape) != 0) {
        return refuse(d, "no operation before it keeps accumulators of its shape", format);
    }
    memset(d->kept, 0, sizeof d->kept);
    if (op->keeps) {
        int64_t bytes = 8 * (int64_t)op->rows * op->columns * op->channels;
        if (bytes > EU_MOST_BYTES) {
            return refuse(d, "it keeps too many accumulators; their bytes are", bytes);
        }
        int64_t *most = &d->found->region_bytes[EU_KEPT_SUMS];
        memcpy(d->kept, shape, sizeof shape);
        *most = bytes > *most ? bytes : *most;
    }
    return QN_OK;
}

/* Decode one operation into op. */
static int decode_operation(decoder *d, eu_operation *op, int parameter) {
    if (op->kind == EU_DMA) {
        return decode_dma(d, op);
    }
    op->rows = d->r0[OFM_HEIGHT] + 1;
    op->columns = d->r0[OFM_WIDTH] + 1;
    op->channels = d->r0[OFM_DEPTH] + 1;
    int status = QN_OK;
    switch (op->kind) {
        case EU_POOL:
            status = decode_pool(d, op, parameter);
            break;
        case EU_ELEMENTWISE:
            status = decode_elementwise(d, op, parameter);
            break;
        case EU_RESIZE:
            status = decode_resize(d, op, parameter);
            break;
        default:
            status = decode_conv(d, op, parameter);
            break;
    }
    if (status == QN_OK) {
        status = read_accumulator(d, op);
    }
    if (status != QN_OK || op->keeps) {
        return status;
    }
    status = read_output(d, op);
    if (status == QN_OK) {
        status = read_activation(d, op);
    }
    if (status == QN_OK) {
        status = spend(d, (int64_t)op->out.rows * op->out.columns);
    }
    if (status == QN_OK) {
        forget_map(d, &op->out);
    }
    return status;
}

/* Read one place of an operation in the trace. */
static int read_trace(decoder *d, eu_operation *op) {
    const eu_map *m = &op->out;
    if (op->kind == EU_DMA || op->keeps || op->traced == EU_TRACES_MOST) {
        return refuse(d, "its trace is damaged", op->traced);
    }
    eu_trace *t = &op->traces[op->traced++];
    t->at = word_at(d->traces, 1);
    t->row = word_at(d->traces, 2);
    t->pixel = word_at(d->traces, 3);
    int64_t end = t->at + (m->rows - 1) * t->row + (m->columns - 1) * t->pixel +
                  (int64_t)m->channels * m->element;
    if (end > EU_MOST_BYTES) {
        return refuse(d, "its trace is damaged", end);
    }
    if (end > d->found->trace_bytes) {
        d->found->trace_bytes = end;
    }
    d->traces += 4 * EU_TRACE_WORDS;
    d->traces_left--;
    return QN_OK;
}

/* True if the next place in the trace is of the operation that the current word starts. */
static int is_traced(const decoder *d) {
    return d->traces_left && word_at(d->traces, 0) == (uint32_t)d->at;
}

/* Return the cost of the products of an operation in int8 products of long vectors. */
static int64_t cost_of(const eu_operation *op) {
    int64_t depth = op->kind == EU_CONV ? op->in.channels : op->channels;
    if (op->kind == EU_POOL || op->operand_weights) {
        return times(op->macs, 16);
    }
    if (op->kind == EU_CONV || op->kind == EU_DEPTHWISE) {
        return times(op->macs / depth, (depth < 16 ? 16 : depth) * (op->narrow ? 1 : 4));
    }
    return op->macs;
}

/* Count the elements that an operation reads and writes, and its products. */
static int spend_run(decoder *d, const eu_operation *op) {
    if (op->kind != EU_DMA) {
        d->cells += eu_cells(&op->in) + eu_cells(&op->in2) + eu_cells(&op->out);
    }
    d->products += cost_of(op);
    if (d->cells > EU_MOST_CELLS) {
        return refuse(d, "its program has too many elements", d->cells);
    }
    return d->products > EU_MOST_MACS
               ? refuse(d, "its program has too many multiply-accumulates", d->products)
               : QN_OK;
}

/* Append the operation that a word starts. */
static int add_operation(decoder *d, int kind, int parameter, eu_operation *list) {
    eu_operation op = {.kind = kind, .command = (int32_t)d->at};
    int status = decode_operation(d, &op, parameter);
    while (status == QN_OK && is_traced(d)) {
        status = read_trace(d, &op);
    }
    if (status != QN_OK) {
        return status;
    }
    int64_t work = eu_work_bytes(&op);
    d->work = work > d->work ? work : d->work;
    d->found->macs += op.macs;
    status = spend_run(d, &op);
    if (status != QN_OK) {
        return status;
    }
    if (list) {
        list[d->found->operations] = op;
    }
    d->found->operations++;
    return QN_OK;
}

/* Read words up to STOP. */
static int read_words(decoder *d, eu_operation *list) {
    for (d->at = 0; d->at < d->words; d->at++) {
        uint32_t word = word_at(d->stream, d->at);
        int opcode = word & 0x3ff, kind = word >> 14 & 3, parameter = (int)(word >> 16);
        if (kind == 1) {
            if (opcode == OP_BRANCH) {
                return refuse(d, "it has a branch; that is not supported", parameter);
            }
            if (d->at + 1 == d->words) {
                return refuse(d, "its last word lacks its value", opcode);
            }
            d->r1_high[opcode] = (uint16_t)parameter;
            d->r1[opcode] = word_at(d->stream, ++d->at);
        } else if (kind) {
            return refuse(d, "it is no command", kind);
        } else if (opcode >= 256) {
            d->r0[opcode] = (uint16_t)parameter;
        } else if (opcode == OP_STOP) {
            return d->traces_left ? refuse(d, "a traced operation is missing", d->traces_left)
                                  : QN_OK;
        } else if (kind_of(opcode) >= 0) {
            int status = add_operation(d, kind_of(opcode), parameter, list);
            if (status != QN_OK) {
                return status;
            }
        } else if (opcode != OP_IRQ && opcode != OP_DMA_WAIT && opcode != OP_KERNEL_WAIT &&
                   opcode != OP_PMU_MASK) {
            return refuse(d, "it is no command", opcode);
        }
    }
    return refuse(d, "it ends without STOP", d->words);
}

/* Count the words that start operations: an upper bound of their number. */
static int32_t count_operations(const decoder *d) {
    int32_t count = 0;
    for (int64_t at = 0; at < d->words; at++) {
        uint32_t word = word_at(d->stream, at);
        if ((word >> 14 & 3) == 1) {
            at++;
        } else {
            count += kind_of(word & 0x3ff) >= 0;
        }
    }
    return count;
}

static int read_configuration(decoder *d, uint32_t config) {
    d->product = (int32_t)(config >> 28);
    d->macs_log2 = config & 15;
    d->decoders = 1;
    int known = d->product == EU_U55   ? d->macs_log2 >= 5 && d->macs_log2 <= 8
                : d->product == EU_U65 ? d->macs_log2 == 8 || d->macs_log2 == 9
                                       : d->macs_log2 >= 7 && d->macs_log2 <= 11;
    if (d->product > EU_U85 || !known) {
        return qn_deny(d->why, QN_REFUSED, "its configuration word 0x%08lx is of no Ethos-U",
                       (unsigned long)config);
    }
    if (d->product == EU_U85) {
        d->decoders = d->macs_log2 <= 8 ? 1 : d->macs_log2 == 9 ? 2 : 4;
    }
    d->found->product = d->product;
    return QN_OK;
}

/* Read the words before the stream: sizes of the regions, places of inputs and outputs, traces. */
static int read_layout(decoder *d, const uint8_t *words, int64_t count, int64_t constant_bytes) {
    eu_program *p = d->found;
    int64_t places =
        count < EU_LAYOUT_WORDS ? -1 : (int64_t)word_at(words, 9) + (int64_t)word_at(words, 10);
    int64_t traces = places < 0 ? 0 : word_at(words, 11);
    int64_t head = EU_LAYOUT_WORDS + 3 * places + EU_TRACE_WORDS * traces;
    if (places < 0 || places > EU_PLACES_MOST || head > count) {
        return qn_deny(d->why, QN_REFUSED,
                       "its layout is damaged: it has %lld inputs and outputs, %lld traces",
                       (long long)places, (long long)traces);
    }
    for (int i = 0; i < EU_REGIONS; i++) {
        p->region_bytes[i] = word_at(words, 1 + i);
        if (p->region_bytes[i] > EU_MOST_BYTES || (i == 0 && p->region_bytes[i] > constant_bytes)) {
            return qn_deny(d->why, QN_REFUSED, "its region %d has %lld bytes", i,
                           (long long)p->region_bytes[i]);
        }
    }
    p->region_bytes[EU_TABLES] = EU_TABLE_BYTES;
    p->inputs = (int32_t)word_at(words, 9);
    p->outputs = (int32_t)word_at(words, 10);
    p->places_at = reserve(d, places * (int64_t)sizeof(eu_place));
    for (int64_t i = 0; i < places; i++) {
        const uint8_t *at = words + 4 * (EU_LAYOUT_WORDS + 3 * i);
        eu_place place = {(int32_t)(word_at(at, 0) & 7), word_at(at, 1), word_at(at, 2)};
        if (place.region == 0 || place.offset + place.bytes > p->region_bytes[place.region]) {
            return qn_deny(d->why, QN_REFUSED,
                           "its %s %lld is bytes %lld to %lld of region %ld, which has %lld",
                           i < p->inputs ? "input" : "output",
                           (long long)(i < p->inputs ? i : i - p->inputs), (long long)place.offset,
                           (long long)(place.offset + place.bytes), (long)place.region,
                           (long long)p->region_bytes[place.region]);
        }
        if (d->block && !is_full(d)) {
            ((eu_place *)(void *)(d->block + p->places_at))[i] = place;
        }
        p->output_bytes += i < p->inputs ? 0 : place.bytes;
    }
    d->traces = words + 4 * (EU_LAYOUT_WORDS + 3 * places);
    d->traces_left = traces;
    d->stream = words + 4 * head;
    d->words = count - head;
    return QN_OK;
}

/* Give each region its place in the scratch memory. */
static void place_regions(decoder *d) {
    eu_program *p = d->found;
    int64_t at = 0;
    for (int i = 1; i < EU_ALL_REGIONS; i++) {
        p->region_at[i] = at;
        at += (p->region_bytes[i] + 63) / 64 * 64;
    }
    p->work_at = at;
    p->scratch_bytes = at + (d->work + 63) / 64 * 64;
}

static int decode_all(decoder *d, const uint8_t *words, int64_t count, int64_t constant_bytes) {
    reserve(d, sizeof(eu_program));
    int status = count ? read_configuration(d, word_at(words, 0))
                       : qn_deny(d->why, QN_REFUSED, "its command stream is empty");
    if (status == QN_OK) {
        status = read_layout(d, words, count, constant_bytes);
    }
    if (status != QN_OK) {
        return status;
    }
    d->found->operations_at = reserve(d, count_operations(d) * (int64_t)sizeof(eu_operation));
    int fits = d->block && !is_full(d);
    eu_operation *list = fits ? (eu_operation *)(void *)(d->block + d->found->operations_at) : NULL;
    status = read_words(d, list);
    place_regions(d);
    d->found->program_bytes = d->used;
    return status;
}

int eu_decode(const void *commands, int64_t command_bytes, const void *constants,
              int64_t constant_bytes, void *program, int64_t capacity, eu_program *found,
              char *why) {
    decoder *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return qn_deny(why, QN_REFUSED, "there is no memory for its %lld commands",
                       (long long)command_bytes);
    }
    memset(found, 0, sizeof *found);
    d->constants = constants;
    d->block = program;
    d->capacity = capacity;
    d->found = found;
    d->why = why;
    if (program) {
        memset(program, 0, (size_t)capacity);
    }
    int status = decode_all(d, commands, command_bytes / 4, constant_bytes);
    if (status == QN_OK && is_full(d)) {
        status = qn_deny(why, QN_REFUSED, "its program has %lld bytes, but %lld are said",
                         (long long)d->used, (long long)capacity);
    }
    found->is_valid = status == QN_OK;
    found->needs_zeros = 1;
    for (int i = 0; i < EU_REGIONS; i++) {
        free(d->shadows[i].bytes);
        free(d->shadows[i].known);
    }
    if (program) {
        memcpy(program, found, sizeof *found);
    }
    free(d);
    return status;
}
