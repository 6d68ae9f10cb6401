/* Second part of calls.h, which includes it: pooling and pairs of vectors of the s8 and s16 API,
 * the NPU, and the table of drawing functions by op. */
#ifndef CALLS_MORE_H
#define CALLS_MORE_H

static int64_t draw_s_pool(const qn_op *op, params *all) {
    qn_s_pool *const p = &all->s_pool;
    axis y, x;
    const int32_t channels = random_axes(0, &y, &x);
    *p = (qn_s_pool){.batches = between(1, 2),
                     .input_h = y.in,
                     .input_w = x.in,
                     .channels = channels,
                     .filter_h = y.kernel,
                     .filter_w = x.kernel,
                     .stride_h = y.stride,
                     .stride_w = x.stride,
                     .pad_h = y.pad,
                     .pad_w = x.pad,
                     .output_h = y.out,
                     .output_w = x.out};
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batches * x.out * y.out * p->channels * x.kernel * y.kernel;
}

static int32_t random_multiplier(void) { return (int32_t)(random_bits() >> 1); }

static int64_t draw_s_add(const qn_op *op, params *all) {
    qn_s_add *const p = &all->s_add;
    const int wide = is_of_16_bits(op), u8 = !strcmp(op->type, "u8");
    *p = (qn_s_add){.block_size = random_length(),
                    .input_1_offset = u8 ? between(-255, 0) : random_input_offset(),
                    .input_1_mult = random_multiplier(),
                    .input_1_shift = between(-4, 0),
                    .input_2_offset = u8 ? between(-255, 0) : random_input_offset(),
                    .input_2_mult = random_multiplier(),
                    .input_2_shift = between(-4, 0),
                    .left_shift = one_in(4) ? between(0, 15)
                                  : wide    ? 15
                                            : 20,
                    .out_offset = u8 ? between(0, 255) : random_output_offset(),
                    .out_mult = random_multiplier(),
                    .out_shift = between(-20, one_in(4) ? 0 : -16)};
    random_range(op, &p->act_min, &p->act_max);
    if (u8) {
        p->act_min = 0;
        p->act_max = between(0, 255);
    }
    return p->block_size;
}

static int64_t draw_s_mul(const qn_op *op, params *all) {
    qn_s_mul *const p = &all->s_mul;
    const int far = one_in(8);
    *p = (qn_s_mul){.block_size = random_length(),
                    .batch_size = between(1, 2),
                    .batch_offset = 1,
                    .input_1_offset = far ? between(-16384, 16384) : random_input_offset(),
                    .input_2_offset = far ? between(-16384, 16384) : random_input_offset(),
                    .out_offset = random_output_offset(),
                    .out_mult = random_multiplier(),
                    .out_shift = between(-20, one_in(4) ? 0 : -5)};
    if (strcmp(op->type, "s16_s8") != 0) {
        p->batch_size = 1;
    }
    random_range(op, &p->act_min, &p->act_max);
    return (int64_t)p->batch_size * p->block_size;
}

static int64_t draw_npu_conv(const qn_op *op, params *all) {
    qn_npu_conv *const p = &all->npu_conv;
    const int32_t groups = between(0, 3) ? 1 : between(2, 3), each = one_in(4);
    axis y, x;
    (void)op;
    const int32_t channels = random_axes(1, &y, &x);
    *p = (qn_npu_conv){.in_h = y.in,
                       .in_w = x.in,
                       .group = each ? channels : groups,
                       .depth = each ? 1 : channels,
                       .out_h = y.out,
                       .out_w = x.out,
                       .kernel_h = y.kernel,
                       .kernel_w = x.kernel,
                       .stride_h = y.stride,
                       .stride_w = x.stride,
                       .pad_n = y.pad,
                       .pad_w = x.pad,
                       .dilation_h = y.dilation,
                       .dilation_w = x.dilation};
    p->out_c = p->group * (each && between(0, 3) ? 1 : random_channels());
    return (int64_t)x.out * y.out * p->out_c * p->depth * x.kernel * y.kernel;
}

static int64_t draw_npu_pool(const qn_op *op, params *all) {
    qn_npu_pool *const p = &all->npu_pool;
    const int32_t up = strstr(op->op, "max") ? 0 : between(-31, 31);
    axis y, x;
    const int32_t channels = random_axes(1, &y, &x);
    *p = (qn_npu_pool){.in_h = y.in,
                       .in_w = x.in,
                       .channels = channels,
                       .out_h = y.out,
                       .out_w = x.out,
                       .kernel_h = y.kernel,
                       .kernel_w = x.kernel,
                       .stride_h = y.stride,
                       .stride_w = x.stride,
                       .pad_n = y.pad,
                       .pad_w = x.pad,
                       .pad_s = between(-2, y.kernel - 1),
                       .dilation_h = y.dilation,
                       .dilation_w = x.dilation,
                       .hw_aligned = between(0, 1),
                       .up = up > 0 ? up : 0,
                       .down = up < 0 ? -up : 0};
    return (int64_t)x.out * y.out * p->channels * x.kernel * y.kernel;
}

static int64_t draw_npu_each(const qn_op *op, params *all) {
    (void)op;
    all->npu_each.slope = one_in(2) ? 0 : between(0, 255);
    all->npu_each.high = between(0, one_in(2) ? 127 : INT16_MAX);
    return all->npu_each.length = random_length();
}

static int64_t draw_npu_add(const qn_op *op, params *all) {
    (void)op;
    all->npu_add.shift = between(0, one_in(2) ? 8 : 31);
    return all->npu_add.length = random_length();
}

/* Draws vectors for further ops of the s8 and s16 API, with special values in them. */
static const struct {
    const char *arithmetic, *params;
    drawn *draw;
} all_draws[] = {
    {"q", "qn_conv", draw_conv},
    {"q", "qn_fc", draw_fc},
    {"q", "qn_pool", draw_pool},
    {"q", "qn_vector", draw_vector},
    {"q", "qn_mult", draw_mult},
    {"q", "qn_offset", draw_offset},
    {"s", "qn_s_conv", draw_s_conv},
    {"s", "qn_s_depthwise", draw_s_depthwise},
    {"s", "qn_s_transpose_conv", draw_s_transpose_conv},
    {"s", "qn_s_fc", draw_s_fc},
    {"s", "qn_s_pool", draw_s_pool},
    {"s", "qn_s_add", draw_s_add},
    {"s", "qn_s_mul", draw_s_mul},
    {"n", "qn_npu_conv", draw_npu_conv},
    {"n", "qn_npu_pool", draw_npu_pool},
    {"n", "qn_npu_each", draw_npu_each},
    {"n", "qn_npu_add", draw_npu_add},
};

/* NULL: the op is not known here. */
static drawn *draw_of(const qn_op *op) {
    for (size_t i = 0; i < sizeof all_draws / sizeof all_draws[0]; i++) {
        if (!strcmp(all_draws[i].arithmetic, op->arithmetic) &&
            !strcmp(all_draws[i].params, op->params)) {
            return all_draws[i].draw;
        }
    }
    return NULL;
}

/* True for ops that can rectify. */
static int takes_relu(const qn_op *op) {
    return !strcmp(op->params, "qn_conv") || !strcmp(op->params, "qn_fc");
}

/* Parameters of a call that the contract allows and the row takes; 0 if none was found. */
static int random_call(const qn_kernel *row, int32_t profile, int relu, params *p,
                       qn_sizes *sizes) {
    const qn_op *op = row->op;
    char why[QN_WHY];
    for (int t = 0; t < TRIES; t++) {
        memset(p, 0, sizeof *p);
        memset(sizes, 0, sizeof *sizes);
        const int64_t work = draw_of(op)(op, p);
        p->profile = profile;
        if (!strcmp(op->params, "qn_conv")) {
            p->conv.relu = relu;
        } else if (takes_relu(op)) {
            p->fc.relu = relu;
        }
        if (work <= MOST_WORK && op->check(p, sizes, why) == QN_OK &&
            row->functions->scratch(p) != QN_NOT_TAKEN) {
            return 1;
        }
    }
    return 0;
}

/* Draws arguments of the NPU: pairs of starts below 2^62 and shifts. */
static void random_pairs(int64_t *pairs, int64_t count) {
    const int wild = one_in(4);
    for (int64_t i = 0; i < count; i++) {
        const int64_t any = (int64_t)((uint64_t)random_bits() << 32 | random_bits());
        pairs[2 * i] = any >> (wild ? between(2, 63) : between(40, 60));
        pairs[2 * i + 1] = between(0, wild ? 63 : 20);
    }
}

/* Element i of the rows of bias, multipliers and shifts, as quantized networks have them; far: of a
 * channel whose outputs are all alike, or almost. */
static int32_t usual_row(int64_t i, int64_t channels, int far, int32_t most_shift) {
    if (i < channels) {
        return far ? (int32_t)random_bits() : between(-20000, 20000);
    }
    return i < 2 * channels ? (1 << 30) + between(0, (1 << 30) - 1)
           : far            ? between(-31, -18)
                            : between(-14, most_shift);
}

/* The array `bias`: as quantized networks have it, or anything. */
static void *random_bias(const qn_op *op, const params *p, int64_t bytes) {
    const int wide = is_of_16_bits(op), width = wide ? 8 : 4;
    if (!strcmp(op->arithmetic, "q")) {
        return random_values(bytes, strncmp(op->type, "q15", 3) ? 1 : 2, 0);
    }
    void *const values = random_values(bytes, width, 0);
    if (!strcmp(op->arithmetic, "n")) {
        random_pairs(values, bytes / 16);
        return values;
    }
    const int wild = one_in(4), some_far = one_in(4);
    const int32_t most_shift = one_in(8) ? 3 : -4, every = between(1, 5);
    const int one_pair = !strcmp(op->params, "qn_s_fc") && !p->s_fc.is_per_channel;
    const int64_t rows = one_pair ? 1 : 3, channels = bytes / width / rows;
    for (int64_t i = 0; i < rows * channels && !wild; i++) {
        const int far = some_far && i % channels % every == 0;
        const int32_t value = usual_row(i, channels, far, most_shift);
        if (wide) {
            ((int64_t *)values)[i] = value;
        } else {
            ((int32_t *)values)[i] = value;
        }
    }
    return values;
}

#endif
