/* MEAN over any axes, sums of a block of channels at a time. Included by mean_<type>_avx2.c after
 * cells_fast.h. */
#ifndef QN_S_MEAN_FAST_H
#define QN_S_MEAN_FAST_H

static int32_t sum_of_line(const element *in, int64_t count) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += in[i];
    }
    return sum;
}

/* The sums of `count` neighbouring outputs; at: the first of their elements. */
static void mean_sums(const qn_s_mean *p, const element *at, int32_t *sums, int count) {
    const int64_t row = (int64_t)p->reduced_1 * p->kept_2;
    memset(sums, 0, (size_t)count * sizeof *sums);
    if (p->kept_1 == 1) { /* the reduced axes are one */
        const int64_t cells = (int64_t)p->reduced_0 * p->reduced_1;
        if (p->kept_2 == 1) {
            *sums = sum_of_line(at, cells);
        } else {
            add_cells(at, p->kept_2, cells, sums, count);
        }
        return;
    }
    for (int32_t r = 0; r < p->reduced_0; r++, at += p->kept_1 * row) {
        if (p->kept_2 == 1) {
            *sums += sum_of_line(at, p->reduced_1);
        } else {
            add_cells(at, p->kept_2, p->reduced_1, sums, count);
        }
    }
}

static int mean_run(const qn_s_mean *p, const qn_buffers *b, int32_t low, int32_t high) {
    const s_stage stage = {p->profile, p->output_zero_point, low, high};
    const s_mean_scale scale = s_mean_scale_of(p);
    const int32_t zeros = p->reduced_0 * p->reduced_1 * p->input_zero_point;
    const element *in = b->in[0];
    element *out = b->out;
    for (int64_t i = 0; i < (int64_t)p->kept_0 * p->kept_1; i++) {
        const int64_t outer = i / p->kept_1 * p->reduced_0 * p->kept_1 + i % p->kept_1;
        const element *row = in + outer * p->reduced_1 * p->kept_2;
        int count;
        for (int64_t first = 0; first < p->kept_2; first += count, out += count) {
            int32_t sums[BLOCK];
            count = (int)(p->kept_2 - first < BLOCK ? p->kept_2 - first : BLOCK);
            mean_sums(p, row + first, sums, count);
            for (int c = 0; c < count; c++) {
                const int32_t sum = sums[c] - zeros;
                out[c] = (element)s_output(&stage, sum, scale.multiplier, scale.shift);
            }
        }
    }
    return QN_OK;
}

#endif
