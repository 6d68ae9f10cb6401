/* Programs of Ethos-U on the rows of the s8 functions: each operation whose bits are theirs.
 *
 * A convolution of int8 whose scales round twice is arm_convolve_wrapper_s8 or
 * arm_depthwise_conv_wrapper_s8 with multiplier = mult and shift = 31 - shift:
 *
 *   floor((p + 2^(s-1) +- 2^30) / 2^s) = RDP(HM(acc, mult), s - 31),  p = acc * mult, s >= 31
 *
 * HM(p) = floor((p + 2^30) / 2^31). For p < 0 the left side is
 * floor((HM(p) - 1 + 2^(s-32)) / 2^(s-31)): RDP of a negative number, and 0 for HM(p) = 0.
 * Sums must stay inside of 32 bits: pack() bounds them by the weights.
 *
 * Products and sums of two int8 maps are arm_elementwise_mul_s8 and arm_elementwise_add_s8 in the
 * same way; an operand of a sum is shifted left by 20 there, so that its shift is 20 less here.
 * Maxima of windows are arm_max_pool_s8. Operations on single elements of 8 bits read their results
 * from a map of all 256. Sums of whole images of bytes have a loop. All other operations are
 * plain. */
#include <string.h>

#include "ethosu.h"
#include "layout.h"
#include "run.h"

/* Memory after the plain program for each operation, and at all; what does not fit stays plain. */
enum { EU_EACH = 1 << 15, EU_TIMES = 3 };

/* Scratch memory of one row. */
enum { EU_ROW_SCRATCH = 1 << 20 };

/* An operation on a row: offsets of its parameters, bias and weights from the block's start. Or on
 * a map of bytes: the offset of 256 results before the table. Neither: plain. */
typedef struct fast_step {
    const qn_kernel *row;
    int64_t params, bias, weights, packed, map;
    int32_t is_copy;    /* each byte is its own result */
    int32_t sums_image; /* its sums are those of all pixels */
} fast_step;

/* Profile of the rows: of a core without lanes of its own. */
enum { PROFILE = 8 * QN_RELEASE_700 + 2 * QN_PATH_SCALAR + QN_DOUBLE };

typedef struct packer {
    uint8_t *block;
    int64_t used, capacity;
    uint32_t allowed;
} packer;

static int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t steps_at(const eu_program *program) { return align64(program->program_bytes); }

/* Reserve bytes; -1: there are not as many. */
static int64_t take(packer *p, int64_t bytes) {
    int64_t at = p->used;
    if (bytes > p->capacity - at) {
        return -1;
    }
    p->used = align64(at + bytes);
    return at;
}

/* Return the best row for parameters, or NULL. */
static const qn_kernel *find_row(const char *op, const void *params, uint32_t allowed) {
    uint64_t bit = UINT64_C(1) << (5 * QN_RELEASE_700 + QN_PATH_SCALAR);
    for (int i = 0; i < qn_kernel_count(); i++) {
        const qn_kernel *row = qn_kernel_at(i);
        if (strcmp(row->op->op, op) != 0 || strcmp(row->op->type, "s8") != 0 ||
            strcmp(row->kind, "fast") != 0 || row->cpu & ~allowed || !(row->profiles & bit)) {
            continue;
        }
        int64_t scratch = row->functions->scratch(params);
        if (scratch != QN_NOT_TAKEN && scratch <= EU_ROW_SCRATCH &&
            row->functions->traits(params) & QN_PAYS) {
            return row;
        }
    }
    return NULL;
}

static int is_int8(const eu_map *m) {
    return m->element == 1 && m->is_signed && m->zero >= -128 && m->zero <= 127;
}

/* True if an operation may have the bits of a convolution of int8. */
static int is_convolution(const eu_operation *op) {
    return (op->kind == EU_CONV || op->kind == EU_DEPTHWISE) && op->per_channel && op->narrow &&
           !op->operand_weights && !op->upscale && !op->function && !op->table && !op->transpose &&
           !op->reverse && op->is_clamped && op->low >= -128 && op->high <= 127 &&
           op->low <= op->high && op->add_zero && is_int8(&op->in) && is_int8(&op->out);
}

/* Copy scales as rows bias, multiplier, shift. Return 0 if one of these does not fit. */
static int copy_channels(const eu_operation *op, const eu_channel *from, int32_t *to) {
    for (int32_t c = 0; c < op->channels; c++) {
        const eu_scale *s = &from[c].scale;
        int rounds = s->rounding == EU_DOUBLE && s->nudge == (s->shift > 31 ? (int64_t)1 << 30 : 0);
        if (!rounds || s->mult > INT32_MAX || s->shift < 31 || s->shift > 62) {
            return 0;
        }
        to[c] = (int32_t)from[c].bias;
        to[op->channels + c] = (int32_t)s->mult;
        to[2 * op->channels + c] = 31 - s->shift;
    }
    return 1;
}

/* Copy weights as int8. Return 0 if one does not fit, or a sum with its bias may leave 32 bits. */
static int copy_weights(const eu_operation *op, const int16_t *from, const eu_channel *channels,
                        int8_t *to) {
    int64_t taps = (int64_t)op->kernel_h * op->kernel_w, outs = op->channels;
    int64_t each = op->kind == EU_DEPTHWISE ? taps : taps * op->in.channels;
    int64_t step = op->kind == EU_DEPTHWISE ? outs : 1, first = op->kind == EU_DEPTHWISE ? 1 : each;
    for (int64_t c = 0; c < outs; c++) {
        int64_t sum = channels[c].bias < 0 ? -channels[c].bias : channels[c].bias;
        for (int64_t i = 0; i < each; i++) {
            int64_t at = c * first + i * step;
            if (from[at] < INT8_MIN || from[at] > INT8_MAX) {
                return 0;
            }
            sum += 255 * (int64_t)(from[at] < 0 ? -from[at] : from[at]);
            to[at] = (int8_t)from[at];
        }
        if (sum > INT32_MAX) {
            return 0;
        }
    }
    return 1;
}

static void fill_conv(const eu_operation *op, int32_t profile, qn_s_conv *p) {
    *p = (qn_s_conv){
        .profile = profile,
        .batches = 1,
        .input_h = op->in_rows,
        .input_w = op->in_columns,
        .input_c = op->in.channels,
        .filter_h = op->kernel_h,
        .filter_w = op->kernel_w,
        .filter_c = op->in.channels,
        .output_h = op->rows,
        .output_w = op->columns,
        .output_c = op->channels,
        .stride_h = op->stride_h,
        .stride_w = op->stride_w,
        .pad_h = op->pad_top,
        .pad_w = op->pad_left,
        .dilation_h = op->dilation_h,
        .dilation_w = op->dilation_w,
        .input_offset = -op->in.zero,
        .output_offset = op->zero,
        .act_min = op->low,
        .act_max = op->high,
        .kernel = QN_S_ANY,
    };
}

static void fill_depthwise(const eu_operation *op, int32_t profile, qn_s_depthwise *p) {
    *p = (qn_s_depthwise){
        .profile = profile,
        .batches = 1,
        .input_h = op->in_rows,
        .input_w = op->in_columns,
        .input_c = op->channels,
        .filter_h = op->kernel_h,
        .filter_w = op->kernel_w,
        .ch_mult = 1,
        .output_h = op->rows,
        .output_w = op->columns,
        .stride_h = op->stride_h,
        .stride_w = op->stride_w,
        .pad_h = op->pad_top,
        .pad_w = op->pad_left,
        .dilation_h = op->dilation_h,
        .dilation_w = op->dilation_w,
        .input_offset = -op->in.zero,
        .output_offset = op->zero,
        .act_min = op->low,
        .act_max = op->high,
        .kernel = QN_S_ANY,
    };
}

/* Choose the row of a step whose parameters are written. */
static void choose_row(packer *p, const char *name, fast_step *step) {
    void *fields = p->block + step->params;
    qn_sizes sizes = {0};
    char why[QN_WHY];
    const qn_kernel *row = find_row(name, fields, p->allowed);
    if (!row || row->op->check(fields, &sizes, why) != QN_OK) {
        return;
    }
    int64_t bytes = row->functions->packed(fields), packed = bytes ? take(p, bytes) : 0;
    if (packed < 0) {
        return;
    }
    if (bytes) {
        const uint8_t *weights = step->weights ? p->block + step->weights : NULL;
        const uint8_t *bias = step->bias ? p->block + step->bias : NULL;
        row->functions->pack(fields, weights, bias, p->block + packed);
    }
    step->packed = packed;
    step->row = row;
}

/* Make a convolution a step on a row, if its bits are those of the row. */
static void pack_step(packer *p, const eu_operation *op, fast_step *step) {
    int64_t count = (int64_t)op->kernel_h * op->kernel_w * op->channels;
    count *= op->kind == EU_DEPTHWISE ? 1 : op->in.channels;
    int64_t bias_bytes = 12 * align64(op->channels), params = take(p, 256 + bias_bytes + count);
    if (params < 0) {
        return;
    }
    int64_t bias = params + 256, weights = bias + bias_bytes;
    void *fields = p->block + params;
    int32_t *rows = (int32_t *)(void *)(p->block + bias);
    int8_t *filter = (int8_t *)(p->block + weights);
    const eu_channel *channels = (const eu_channel *)(const void *)(p->block + op->scales);
    const int16_t *from = (const int16_t *)(const void *)(p->block + op->weights);
    if (!copy_channels(op, channels, rows) || !copy_weights(op, from, channels, filter)) {
        return;
    }
    if (op->kind == EU_CONV) {
        fill_conv(op, PROFILE, fields);
    } else {
        fill_depthwise(op, PROFILE, fields);
    }
    const char *name = op->kind == EU_CONV ? "convolve_wrapper" : "depthwise_conv_wrapper";
    *step = (fast_step){.params = params, .bias = bias, .weights = weights};
    choose_row(p, name, step);
}

/* ---- Elementwise operations and pooling ---- */

static int is_plain_int8(const eu_operation *op) {
    return !op->upscale && !op->function && !op->table && !op->transpose && !op->reverse &&
           op->is_clamped && op->low >= -128 && op->high <= 127 && op->low <= op->high &&
           op->add_zero && is_int8(&op->out);
}

static int has_shape(const eu_operation *op, const eu_map *m) {
    return m->rows == op->rows && m->columns == op->columns && m->channels == op->channels;
}

/* True if a scale rounds twice, after a shift to the left by `earlier`, as rows of s8 do. */
static int rounds_twice(const eu_scale *s, int earlier) {
    int64_t nudge = s->shift > 31 - earlier ? (int64_t)1 << (30 - earlier) : 0;
    return s->rounding == EU_DOUBLE && s->nudge == nudge && s->mult <= INT32_MAX &&
           s->shift >= 31 - earlier && s->shift <= 62 - earlier;
}

enum { ADD_SHIFT = 20 };

/* Set multiplier and shift, so far 0, of an operand of a sum. Return 0 if it has other bits. */
static int fill_operand(const eu_operand *o, int32_t *mult, int32_t *shift) {
    *mult = 1 << 30;
    if (!o->is_scaled) {
        return o->shift_left == ADD_SHIFT - 1;
    }
    *mult = (int32_t)o->scale.mult;
    *shift = 31 - ADD_SHIFT - o->scale.shift;
    return rounds_twice(&o->scale, ADD_SHIFT);
}

static const char *fill_elementwise(const eu_operation *op, void *fields) {
    const eu_map *a = op->is_swapped ? &op->in2 : &op->in, *b = op->is_swapped ? &op->in : &op->in2;
    int fits = !op->a.is_scalar && !op->b.is_scalar && is_int8(a) && is_int8(b) &&
               has_shape(op, a) && has_shape(op, b) && op->is_scaled && rounds_twice(&op->scale, 0);
    if (!fits || (op->mode != EU_ADD && op->mode != EU_MUL)) {
        return NULL;
    }
    int32_t size = (int32_t)eu_cells(&op->out);
    if (op->mode == EU_MUL) {
        *(qn_s_mul *)fields = (qn_s_mul){.profile = PROFILE,
                                         .block_size = size,
                                         .batch_size = 1,
                                         .batch_offset = 1,
                                         .input_1_offset = -a->zero,
                                         .input_2_offset = -b->zero,
                                         .out_offset = op->zero,
                                         .out_mult = (int32_t)op->scale.mult,
                                         .out_shift = 31 - op->scale.shift,
                                         .act_min = op->low,
                                         .act_max = op->high};
        return "elementwise_mul";
    }
    qn_s_add *p = fields;
    *p = (qn_s_add){.profile = PROFILE,
                    .block_size = size,
                    .input_1_offset = -a->zero,
                    .input_2_offset = -b->zero,
                    .left_shift = ADD_SHIFT,
                    .out_offset = op->zero,
                    .out_mult = (int32_t)op->scale.mult,
                    .out_shift = 31 - op->scale.shift,
                    .act_min = op->low,
                    .act_max = op->high};
    int known = fill_operand(&op->a, &p->input_1_mult, &p->input_1_shift) &&
                fill_operand(&op->b, &p->input_2_mult, &p->input_2_shift);
    return known ? "elementwise_add" : NULL;
}

static const char *fill_pool(const eu_operation *op, void *fields) {
    int copies = !op->is_scaled || (op->scale.mult == 1 && op->scale.shift == 0);
    if (op->mode != EU_MAX_POOL || !copies || op->per_channel || !is_int8(&op->in) ||
        op->in.zero != op->zero || op->dilation_h != 1 || op->dilation_w != 1) {
        return NULL;
    }
    *(qn_s_pool *)fields = (qn_s_pool){
        .profile = PROFILE,
        .batches = 1,
        .input_h = op->in_rows,
        .input_w = op->in_columns,
        .channels = op->channels,
        .filter_h = op->kernel_h,
        .filter_w = op->kernel_w,
        .stride_h = op->stride_h,
        .stride_w = op->stride_w,
        .pad_h = op->pad_top,
        .pad_w = op->pad_left,
        .output_h = op->rows,
        .output_w = op->columns,
        .act_min = op->low,
        .act_max = op->high,
    };
    return "max_pool";
}

/* True if each result depends on one element of 8 bits. */
static int is_of_bytes(const eu_operation *op) {
    if (op->per_channel || op->upscale) {
        return 0;
    }
    if (op->kind == EU_POOL) {
        int copies = op->mode == EU_MAX_POOL || op->mode == EU_AVERAGE || op->mode == EU_SUM ||
                     op->mode == EU_MIN_POOL;
        return copies && op->kernel_h == 1 && op->kernel_w == 1 && op->stride_h == 1 &&
               op->stride_w == 1 && !op->pad_top && !op->pad_left && op->in.element == 1 &&
               has_shape(op, &op->in);
    }
    int is_single = !op->in2.rows || op->b.is_scalar || op->a.is_scalar;
    return op->kind == EU_ELEMENTWISE && is_single && op->in.rows && op->in.element == 1 &&
           has_shape(op, &op->in);
}

/* Compute the results of all bytes, before the table; after these, their low bytes. */
static void pack_map(packer *p, const eu_operation *op, int product, fast_step *step) {
    int64_t at = take(p, 256 * (int64_t)(sizeof(int32_t) + 1));
    if (at < 0) {
        return;
    }
    int32_t *map = (int32_t *)(void *)(p->block + at);
    uint8_t *bytes = (uint8_t *)(map + 256);
    int changes = op->table;
    for (int i = 0; i < 256; i++) {
        int32_t value = op->in.is_signed ? (int8_t)(uint8_t)i : i;
        int64_t result = eu_value_of(op, product, value - op->in.zero);
        map[i] = (int32_t)qn_clamp64(result, INT32_MIN, INT32_MAX);
        bytes[i] = (uint8_t)map[i];
        changes |= bytes[i] != i;
    }
    step->map = at;
    step->is_copy = !changes && op->out.element == 1;
}

/* True if an operation sums all pixels of an image of bytes; sums of so many fit in 32 bits. */
static int sums_image(const eu_operation *op) {
    const eu_map *m = &op->in;
    return op->kind == EU_POOL && (op->mode == EU_AVERAGE || op->mode == EU_SUM) &&
           !op->counts_window && !op->upscale && op->rows == 1 && op->columns == 1 &&
           op->channels == m->channels && m->element == 1 && m->rows == op->kernel_h &&
           m->columns == op->kernel_w && !op->pad_top && !op->pad_left && op->dilation_h == 1 &&
           op->dilation_w == 1 && (int64_t)m->rows * m->columns < 1 << 23;
}

/* Make an operation without weights a step on a row or on a map of bytes, or a sum. */
static void pack_weightless(packer *p, const eu_operation *op, int product, fast_step *step) {
    if (is_of_bytes(op)) {
        pack_map(p, op, product, step);
        return;
    }
    step->sums_image = sums_image(op);
    int64_t params = is_plain_int8(op) ? take(p, 256) : -1;
    if (params < 0) {
        return;
    }
    const char *name = op->kind == EU_POOL ? fill_pool(op, p->block + params)
                                           : fill_elementwise(op, p->block + params);
    if (name) {
        *step = (fast_step){.params = params};
        choose_row(p, name, step);
    }
}

static int64_t packed(const void *params) {
    const qn_ethosu *p = params;
    return align64(p->program_bytes) * (1 + EU_TIMES) + (int64_t)p->operations * EU_EACH + EU_EACH;
}

static void pack(const void *params, const void *weights, const void *bias, void *memory,
                 uint32_t allowed) {
    const qn_ethosu *p = params;
    eu_program_ref.pack(params, weights, bias, memory);
    eu_program *program = memory;
    packer all = {memory, steps_at(program), packed(params), allowed};
    fast_step *steps = (fast_step *)(void *)(all.block + all.used);
    if (!program->is_valid || take(&all, program->operations * (int64_t)sizeof(fast_step)) < 0) {
        program->is_valid = 0;
        return;
    }
    memset(steps, 0, (size_t)program->operations * sizeof(fast_step));
    eu_lay_out(program, p->operations);
#if QN_HAS_X86
    program->dot = allowed & QN_CPU_AVX2 ? eu_dot_avx2 : NULL;
#endif
    const eu_operation *list =
        (const eu_operation *)(const void *)(all.block + program->operations_at);
    for (int32_t i = 0; i < p->operations; i++) {
        if (list[i].goes_on || list[i].keeps) {
            continue; /* plain */
        }
        if (is_convolution(&list[i])) {
            pack_step(&all, &list[i], &steps[i]);
        } else if (list[i].kind == EU_POOL || list[i].kind == EU_ELEMENTWISE) {
            pack_weightless(&all, &list[i], program->product, &steps[i]);
        }
    }
}

/* Return the dense bytes of an input: its own memory, or a copy at *spare that ends before the new
 * *spare. out: memory that is written, NULL if it is elsewhere. */
static uint8_t *dense_input(const eu_runner *r, const eu_map *m, const uint8_t *out,
                            int64_t out_bytes, uint8_t **spare) {
    int64_t bytes = align64(eu_cells(m));
    uint8_t *in = eu_dense(r, m);
    if (in && (!out || in >= out + out_bytes || out >= in + bytes)) {
        return in;
    }
    in = *spare;
    eu_load_bytes(r, m, in);
    *spare += bytes;
    return in;
}

/* Run an operation on its row. Maps that are not dense are copied. */
static int run_row(const eu_runner *r, const eu_operation *op, const fast_step *step) {
    int64_t out_bytes = align64(eu_cells(&op->out));
    uint8_t *out = eu_dense(r, &op->out), *spare = r->work;
    const eu_map *first = op->is_swapped ? &op->in2 : &op->in;
    qn_buffers b = {.in = {dense_input(r, first, out, out_bytes, &spare)}};
    if (op->kind == EU_ELEMENTWISE) {
        const eu_map *second = op->is_swapped ? &op->in : &op->in2;
        b.in[1] = dense_input(r, second, out, out_bytes, &spare);
    }
    b.out = out ? out : spare;
    b.scratch = spare + out_bytes;
    b.weights = r->block + step->weights;
    b.bias = r->block + step->bias;
    b.packed = r->block + step->packed;
    int status = step->row->functions->run(r->block + step->params, &b);
    if (!out) {
        eu_store_bytes(r, &op->out, b.out);
    }
    return status;
}

/* Look up the low bytes of results. Few take no map of their own. */
static void map_bytes(const eu_runner *r, const eu_operation *op, const int32_t *map,
                      const uint8_t *in, int64_t count, uint8_t *to) {
    const uint8_t *bytes = (const uint8_t *)(map + 256);
    uint8_t looked_up[256];
    if (op->table && count < 256) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (uint8_t)eu_look_up(r, op, map[in[i]]);
        }
        return;
    }
    for (int i = 0; i < 256 && op->table; i++) {
        looked_up[i] = (uint8_t)eu_look_up(r, op, map[i]);
    }
    bytes = op->table ? looked_up : bytes;
    for (int64_t i = 0; i < count; i++) {
        to[i] = bytes[in[i]];
    }
}

/* Run an operation on single bytes by its map. */
static void run_map(const eu_runner *r, const eu_operation *op, const fast_step *step) {
    const int32_t *map = (const int32_t *)(const void *)(r->block + step->map);
    int64_t count = eu_cells(&op->in), row = (int64_t)op->columns * op->channels;
    uint8_t *spare = r->work;
    int is_bytes = op->out.element == 1 && !op->transpose && !op->reverse;
    uint8_t *out = is_bytes ? eu_dense(r, &op->out) : NULL;
    const uint8_t *in = dense_input(r, &op->in, out ? out : r->memory[op->out.region],
                                    out ? count : r->program->region_bytes[op->out.region], &spare);
    if (is_bytes) {
        uint8_t *to = out ? out : spare;
        if (step->is_copy) {
            memcpy(to, in, (size_t)count);
        } else {
            map_bytes(r, op, map, in, count, to);
        }
        if (!out) {
            eu_store_bytes(r, &op->out, to);
        }
        return;
    }
    int64_t *line = (int64_t *)(void *)spare;
    for (int32_t y = 0; y < op->rows; y++, in += row) {
        for (int64_t i = 0; i < row; i++) {
            line[i] = eu_look_up(r, op, map[in[i]]);
        }
        eu_store_row(r, op, y, line);
    }
}

static void add_signed(const int8_t *restrict x, int32_t channels, int32_t *restrict sums) {
    for (int32_t c = 0; c < channels; c++) {
        sums[c] += x[c];
    }
}

static void add_unsigned(const uint8_t *restrict x, int32_t channels, int32_t *restrict sums) {
    for (int32_t c = 0; c < channels; c++) {
        sums[c] += x[c];
    }
}

/* Sum the pixels of an image. */
static void run_sums(const eu_runner *r, const eu_operation *op) {
    int32_t channels = op->channels;
    int64_t *acc = (int64_t *)(void *)r->work, pixels = (int64_t)op->in.rows * op->in.columns;
    int32_t *sums = (int32_t *)(void *)(r->work + align64(8 * (int64_t)channels));
    uint8_t *spare = (uint8_t *)sums + align64(4 * (int64_t)channels);
    const uint8_t *in = dense_input(r, &op->in, NULL, 0, &spare);
    memset(sums, 0, (size_t)channels * sizeof *sums);
    for (int64_t i = 0; i < pixels; i++, in += channels) {
        if (op->in.is_signed) {
            add_signed((const int8_t *)in, channels, sums);
        } else {
            add_unsigned(in, channels, sums);
        }
    }
    for (int32_t c = 0; c < channels; c++) {
        acc[c] = sums[c] - pixels * op->in.zero;
    }
    eu_end_row(r, op, 0, acc);
}

static const fast_step *step_at(const eu_program *program, int32_t index) {
    const uint8_t *block = (const uint8_t *)program;
    return &((const fast_step *)(const void *)(block + steps_at(program)))[index];
}

const char *qn_ethosu_step(const void *packed, int32_t index) {
    const fast_step *step = step_at(packed, index);
    return step->row ? step->row->symbol : step->map ? "map" : step->sums_image ? "sums" : "plain";
}

/* Run one operation: on its row, by its map, as a sum, or plain. */
static int run_step(const eu_runner *r, int32_t index) {
    const eu_operation *op =
        &((const eu_operation *)(const void *)(r->block + r->program->operations_at))[index];
    const fast_step *step = step_at(r->program, index);
    if (step->row) {
        return run_row(r, op, step);
    }
    if (step->map) {
        run_map(r, op, step);
        return QN_OK;
    }
    if (step->sums_image) {
        run_sums(r, op);
        return QN_OK;
    }
    return eu_run_operation(r, op);
}

static int run(const void *params, const qn_buffers *b) {
    const qn_ethosu *p = params;
    const eu_program *program = b->packed;
    if (!program->is_valid) {
        return QN_REFUSED;
    }
    return eu_run(program, p->operations, b->bias, b->in[0], b->out, b->scratch, run_step);
}

static int64_t scratch(const void *params) {
    return align64(((const qn_ethosu *)params)->scratch_bytes) + EU_ROW_SCRATCH;
}

static void pack_portable(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_ANY);
}

const qn_functions eu_program_portable = {run, scratch, packed, pack_portable, qn_always_pays};

#if QN_HAS_X86
static void pack_avx2(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_AVX2);
}

static void pack_avxvnni(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_AVX2 | QN_CPU_AVXVNNI);
}

/* The set below AVX-512 VNNI is not always there; its rows come first for no shape. */
static void pack_avx512(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_AVX2 | QN_CPU_AVX512VNNI);
}

static void pack_amx(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_AVX2 | QN_CPU_AVX512VNNI | QN_CPU_AMX);
}

const qn_functions eu_program_avx2 = {run, scratch, packed, pack_avx2, qn_always_pays};
const qn_functions eu_program_avxvnni = {run, scratch, packed, pack_avxvnni, qn_always_pays};
const qn_functions eu_program_avx512 = {run, scratch, packed, pack_avx512, qn_always_pays};
const qn_functions eu_program_amx = {run, scratch, packed, pack_amx, qn_always_pays};
#endif

#if QN_HAS_ARM64
static void pack_neon(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_NEON);
}

static void pack_i8mm(const void *params, const void *weights, const void *bias, void *memory) {
    pack(params, weights, bias, memory, QN_CPU_NEON | QN_CPU_I8MM);
}

const qn_functions eu_program_neon = {run, scratch, packed, pack_neon, qn_always_pays};
const qn_functions eu_program_i8mm = {run, scratch, packed, pack_i8mm, qn_always_pays};
#endif
