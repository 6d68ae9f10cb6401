/* Average pooling of ESP-DL of 8 bits by loops over channels that compilers make vectors of. */
#include "floats.h"

/* FAR: outputs saturate before it. MIDDLE: floats of this size are integers, and rounding to
 * nearest makes halves even. */
enum { BLOCK = 64, FAR = 200, MIDDLE = 3 << 22 };

/* Windows have at most 65535 cells, so that sums are below 2^23. */
static void add_cells(int32_t *restrict sums, const int8_t *restrict cells, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        sums[i] += cells[i];
    }
}

static inline float average_of(int32_t sum, float scale) {
    const float v = (float)sum * scale;
    return v < -FAR ? -FAR : v > FAR ? FAR : v;
}

static inline int32_t half_up(float v) {
    const float sum = v + 0.5f;
    const int32_t whole = (int32_t)sum;
    return whole - (sum < (float)whole);
}

static inline int32_t half_even(float v) { return (int32_t)((v + MIDDLE) - MIDDLE); }

static void put_averages(int8_t *restrict out, const int32_t *restrict sums, int32_t count,
                         float scale, int32_t chip) {
    if (chip == QN_DL_P4) {
        for (int32_t i = 0; i < count; i++) {
            out[i] = qn_sat8(half_even(average_of(sums[i], scale)));
        }
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = qn_sat8(half_up(average_of(sums[i], scale)));
    }
}

/* The outputs of one window. in: its image; columns: its cells along the image's row. */
static void pool_window(const qn_dl_pool *p, const int8_t *in, s_dl_span rows, s_dl_span columns,
                        float scale, int8_t *out) {
    for (int32_t first = 0; first < p->channels; first += BLOCK) {
        const int32_t left = p->channels - first, count = left < BLOCK ? left : BLOCK;
        int32_t sums[BLOCK] = {0};
        for (int64_t y = rows.start; y < rows.stop; y++) {
            for (int64_t x = columns.start; x < columns.stop; x++) {
                add_cells(sums, in + (y * p->input_w + x) * p->channels + first, count);
            }
        }
        put_averages(out + first, sums, count, scale, p->chip);
    }
}

int s_dl_average_pool_s8_portable(const void *params, const qn_buffers *b) {
    const qn_dl_pool *p = params;
    const float scale = s_dl_average_scale(p);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            const s_dl_span rows = s_dl_inside(y, p->stride_h, p->pad_h, p->filter_h, p->input_h);
            for (int32_t x = 0; x < p->output_w; x++, out += p->channels) {
                const s_dl_span columns =
                    s_dl_inside(x, p->stride_w, p->pad_w, p->filter_w, p->input_w);
                pool_window(p, in, rows, columns, scale, out);
            }
        }
        in += (int64_t)p->input_h * p->input_w * p->channels;
    }
    return QN_OK;
}
