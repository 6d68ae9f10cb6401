/* A decoded program of Ethos-U: its operations with every address checked, in one block of memory.
 *
 * decode.c makes it from the words of a stream, run.c computes it. All positions in the block are
 * offsets from its start. Memory of a run has these regions: 0 constants, 1 to 7 as the stream
 * numbers them, then the tables, then chaining buffers and kept accumulators of the U85. */
#ifndef QN_ETHOSU_PROGRAM_H
#define QN_ETHOSU_PROGRAM_H

#include <stdint.h>

#include "../include/qn.h"

enum {
    EU_REGIONS = 8,
    EU_TABLES = 8, /* pseudo-region of the look-up tables */
    EU_TABLE_BYTES = 2048,
    EU_CHAIN = 9,      /* pseudo-region of the first chaining buffer */
    EU_KEPT_SUMS = 17, /* pseudo-region of accumulators that the next operation goes on with */
    EU_ALL_REGIONS = 18
};

enum eu_product { EU_U55 = 0, EU_U65 = 1, EU_U85 = 2 };

enum eu_kind { EU_CONV, EU_DEPTHWISE, EU_POOL, EU_ELEMENTWISE, EU_RESIZE, EU_DMA };

enum eu_pool {
    EU_MAX_POOL = 0,
    EU_AVERAGE = 1,
    EU_REDUCE_SUM = 2,
    EU_SUM = 3,
    EU_NONE = 4,
    EU_MIN_POOL = 5,
    EU_ARGMAX_X = 6,
    EU_ARGMAX_Y = 7
};

enum eu_elementwise {
    EU_MUL = 0,
    EU_ADD = 1,
    EU_SUB = 2,
    EU_MIN = 3,
    EU_MAX = 4,
    EU_LRELU = 5,
    EU_ABS = 6,
    EU_CLZ = 7,
    EU_SHR = 8,
    EU_SHL = 9,
    EU_LSR = 10,
    EU_DIV = 11,
    EU_CMP_EQ = 16,
    EU_CMP_NE = 17,
    EU_CMP_GE = 18,
    EU_CMP_GT = 19,
    EU_AND = 33,
    EU_OR = 34,
    EU_XOR = 35,
    EU_NOT = 36,
    EU_AND_NOT = 42
};

enum eu_resize { EU_BILINEAR = 0, EU_REPLICATE = 1, EU_NEAREST = 2 };

/* Roundings of value * mult / 2^shift. Double: half is added, then +-nudge (the sign of the
 * product, or always +). Symmetric: halves away from zero. */
enum eu_rounding {
    EU_DOUBLE = 0,
    EU_NATURAL = 1,
    EU_DOUBLE_UP = 2,
    EU_SYMMETRIC = 3,
    EU_TRUNCATE = 4,
    EU_FLOOR = 5
};

enum eu_function { EU_NO_FUNCTION, EU_TANH, EU_SIGMOID };

/* Table: element bytes of the index and of the entries. Only 16-bit indices interpolate. */
enum eu_table {
    EU_NO_TABLE,
    EU_TABLE_8,
    EU_TABLE_16,
    EU_TABLE_32,
    EU_TABLE_S16_S16,
    EU_TABLE_S16_S32
};

/* A feature map: rows x columns x channels in up to four tiles. Strides and bases in bytes. */
typedef struct eu_map {
    int64_t base[4], stride_y, stride_x, stride_c;
    int32_t height0, height1, width0; /* of the tiles */
    int32_t rows, columns, channels;
    int32_t region, element, is_signed, has_bricks;
    int32_t zero;
} eu_map;

typedef struct eu_scale {
    int64_t mult;
    int32_t shift, rounding;
    int64_t nudge; /* 0: this shift needs none */
} eu_scale;

/* Bias and scale of one output channel. */
typedef struct eu_channel {
    int64_t bias;
    eu_scale scale;
} eu_channel;

/* An operand of an elementwise operation. */
typedef struct eu_operand {
    int32_t is_scalar, is_scaled, shift_left; /* shift_left: without a scale */
    int64_t scalar;
    eu_scale scale;
} eu_operand;

typedef struct eu_copy {
    int32_t from, to, indices, indexed; /* regions; indexed: 0 no, 1 source rows, 2 destination */
    int64_t source, destination, index_at, bytes;
    int64_t rows, planes, source_row, source_plane, destination_row, destination_plane, index_plane;
} eu_copy;

/* Positions of one axis of RESIZE: (i * step + offset) / n. */
typedef struct eu_axis {
    int64_t n, step, offset;
} eu_axis;

/* Most copies of a map in the trace: one of its own, the others in concatenations. */
enum { EU_TRACES_MOST = 4 };

/* Place of a map in the trace, in bytes: its start, and from one row and pixel to the next. */
typedef struct eu_trace {
    int64_t at, row, pixel;
} eu_trace;

typedef struct eu_operation {
    int32_t kind, mode;
    int32_t command; /* word of the stream that starts it */
    int32_t traced;  /* copies of its map in the trace */
    eu_map in, in2, out;
    int32_t rows, columns, channels; /* of the output as computed, before any transposition */
    int32_t kernel_h, kernel_w, dilation_h, dilation_w, stride_h, stride_w, pad_top, pad_left;
    int32_t in_rows, in_columns; /* with upscaling */
    int32_t upscale;             /* 0 none, 1 nearest, 2 zeros */
    int32_t counts_window;       /* AVERAGE divides by the elements of the window that exist */
    int32_t operand_weights;     /* CONV of the U85: the weights are the second input */
    int32_t is_scaled, per_channel;
    eu_scale scale;
    eu_operand a, b;    /* of the first and the second operand */
    int32_t is_swapped; /* the first operand is the second input */
    int32_t function, table, table_at, table_signed;
    int32_t is_clamped, low, high;
    int32_t add_zero, zero;
    int32_t transpose, reverse;
    int32_t narrow;  /* inputs less their zero point are 16 bits: sums have 32 bits */
    int32_t goes_on; /* its accumulators start as those of the operation before */
    int32_t keeps;   /* its accumulators stay for the next operation, and nothing is stored */
    int64_t weights, scales; /* offsets of int16_t and of eu_channel */
    eu_copy copy;
    eu_axis y, x;
    int64_t macs;
    eu_trace traces[EU_TRACES_MOST];
} eu_operation;

/* Bytes that the program's caller gives or takes. */
typedef struct eu_place {
    int32_t region;
    int64_t offset, bytes;
} eu_place;

/* Return a sum modulo 2^32 of products of 16 bits. */
typedef uint32_t eu_dot(const int16_t *x, const int16_t *w, int64_t count);

typedef struct eu_program {
    int32_t is_valid, operations, inputs, outputs, product, oddities;
    int64_t region_bytes[EU_ALL_REGIONS], region_at[EU_ALL_REGIONS]; /* in the scratch memory */
    int64_t region_used[EU_ALL_REGIONS]; /* the end of the last byte that the stream names */
    int64_t work_at, scratch_bytes, program_bytes, macs;
    int64_t output_bytes, trace_bytes; /* of the outputs, and of the trace after them */
    int64_t operations_at, places_at;
    int32_t needs_zeros; /* a run reads bytes that nothing has written */
    eu_dot *dot;         /* NULL: plain */
} eu_program;

/* Words before the stream: the configuration word, bytes of the regions 0 to 7, how many inputs,
 * outputs and copies in the trace; then region, offset and bytes of each input and output; then of
 * each copy in the trace the operation's word of the stream, ascending, and the bytes of eu_trace.
 */
enum { EU_LAYOUT_WORDS = 12, EU_PLACES_MOST = 4096, EU_TRACE_WORDS = 4 };

/* Decode and check. program: the block, or NULL to count its bytes only; capacity: its bytes, at
 * least those of eu_program.
 * Return QN_OK and fill found, or another status with a sentence in why. */
int eu_decode(const void *commands, int64_t command_bytes, const void *constants,
              int64_t constant_bytes, void *program, int64_t capacity, eu_program *found,
              char *why);

/* Order of the weights of one stream. core, cores: the stream has the output channels core,
 * core + cores, ... */
typedef struct eu_order {
    int32_t product, macs_log2, microblock;
    int32_t depthwise, part_kernel, sparse, in_element, fast;
    int32_t out_channels, in_channels, kernel_h, kernel_w, stride_h, stride_w;
    int32_t dilation_h, dilation_w, block_depth, core, cores;
} eu_order;

/* Count the weights of a stream; 0: this microblock has no order. With weights, put each into
 * dense: [out][y][x][in], depthwise [y][x][out]. */
int64_t eu_place_weights(const eu_order *order, const int16_t *weights, int16_t *dense);

/* Weights that one core has in turn, in a stream of the fast format that all cores share. */
int64_t eu_fast_block(const eu_order *order);

/* Bytes of one map, dense, of int32_t; memory that an operation needs while it runs. */
int64_t eu_work_bytes(const eu_operation *op);

typedef struct eu_runner eu_runner;

/* Compute operation `index`. */
typedef int eu_step(const eu_runner *r, int32_t index);

/* Compute the first operations of a program, each by step(); NULL: plain. */
int eu_run(const eu_program *program, int32_t operations, const void *constants, const void *in,
           void *out, void *scratch, eu_step *step);

#endif
