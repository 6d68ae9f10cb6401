/* Pooling of the s8 and s16 API over all channels of a window at once, in loops that compilers turn
 * into vectors. Included between a target_*.h and target_end.h, after cells_fast.h. */
#ifndef QN_S_POOL_FAST_H
#define QN_S_POOL_FAST_H

static const element *cells_of(const qn_s_pool *p, const element *in, int32_t y, int32_t x) {
    return in + ((int64_t)y * p->input_w + x) * p->channels;
}

static void maximum(const qn_s_pool *p, const element *in, s_span rows, s_span columns,
                    element *out) {
    int64_t channels = p->channels;
    element low = (element)p->act_min, high = (element)p->act_max;
    for (int64_t c = 0; c < channels; c++) {
        out[c] = low; /* the clamp from below comes first: a maximum keeps it */
    }
    for (int32_t y = rows.start; y < rows.stop; y++) {
        for (int32_t x = columns.start; x < columns.stop; x++) {
            const element *cells = cells_of(p, in, y, x);
            for (int64_t c = 0; c < channels; c++) {
                out[c] = cells[c] > out[c] ? cells[c] : out[c];
            }
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        out[c] = out[c] > high ? high : out[c];
    }
}

/* qn_mean() by a division of doubles: the numerator is below 2^31 and n below 2^16, so the quotient
 * is off by less than 2^-20 / n at most and lands on the right side of every integer it is not. */
static void mean_block(const qn_s_pool *p, const int32_t *sums, int64_t count, int32_t n,
                       element *out) {
    int32_t half = n / 2;
    for (int64_t c = 0; c < count; c++) {
        int32_t whole = sums[c] > 0 ? sums[c] + half : sums[c] - half;
        int32_t value = (int32_t)((double)whole / (double)n);
        value = value < p->act_min ? p->act_min : value;
        out[c] = (element)(value > p->act_max ? p->act_max : value);
    }
}

static void mean(const qn_s_pool *p, const element *in, s_span rows, s_span columns, element *out) {
    int32_t n = (rows.stop - rows.start) * (columns.stop - columns.start);
    const int whole = columns.stop - columns.start == p->input_w; /* rows go on in the next */
    const int32_t step = whole ? rows.stop - rows.start : 1;
    for (int64_t from = 0; from < p->channels; from += BLOCK) {
        int64_t count = p->channels - from < BLOCK ? p->channels - from : BLOCK;
        int32_t sums[BLOCK] = {0};
        for (int32_t y = rows.start; y < rows.stop; y += step) {
            add_cells(cells_of(p, in, y, columns.start) + from, p->channels,
                      (int64_t)step * (columns.stop - columns.start), sums, (int)count);
        }
        mean_block(p, sums, count, n, out + from);
    }
}

typedef void summary(const qn_s_pool *p, const element *in, s_span rows, s_span columns,
                     element *out);

static inline int pool(const qn_s_pool *p, const qn_buffers *b, summary *summarize) {
    const element *in = b->in[0];
    element *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++, out += p->channels) {
                summarize(p, in, s_pool_rows(p, y), s_pool_columns(p, x), out);
            }
        }
        in += (int64_t)p->input_h * p->input_w * p->channels;
    }
    return QN_OK;
}

#endif
