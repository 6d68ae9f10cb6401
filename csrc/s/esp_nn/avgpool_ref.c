/* Average pooling of ESP-NN on an ESP32-S3, plain (esp_nn_avg_pool_s8).
 *
 * Means and ranges are those of ../pooling/pool.h, but row y of an output begins at element
 * y * output_h * channels, not y * output_w * channels: of images that are wider than high, each
 * row overwrites the end of the row before; of higher ones, gaps remain, and the last rows are
 * written after the tensor. Elements that no row writes have what memory held; they count as 0.
 * The next image of a batch overwrites what the one before wrote into it.
 * Example: an output of 2 x 3 x 4 has row 1 from element 8 on; elements 20 to 23 are unwritten. */
#include <string.h>

#include "../pooling/pool.h"
#include "kernels.h"

static int32_t mean_at(const qn_s_pool *p, const int8_t *in, int32_t y, int32_t x, int32_t c) {
    const s_span rows = s_pool_rows(p, y), columns = s_pool_columns(p, x);
    int32_t sum = 0; /* at most 65535 cells of 8 bits */
    for (int32_t i = rows.start; i < rows.stop; i++) {
        for (int32_t j = columns.start; j < columns.stop; j++) {
            sum += in[((int64_t)i * p->input_w + j) * p->channels + c];
        }
    }
    int32_t mean = qn_mean(sum, (rows.stop - rows.start) * (columns.stop - columns.start));
    return qn_clamp(mean, p->act_min, p->act_max);
}

int s_esp_avgpool_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_pool *p = params;
    const int64_t image = (int64_t)p->input_h * p->input_w * p->channels;
    const int64_t outputs = (int64_t)p->output_h * p->output_w * p->channels;
    const int64_t end = p->batches * outputs;
    int8_t *out = b->out;
    memset(out, 0, (size_t)end);
    for (int32_t n = 0; n < p->batches; n++) {
        const int8_t *in = (const int8_t *)b->in[0] + n * image;
        for (int32_t y = 0; y < p->output_h; y++) {
            int64_t at = n * outputs + (int64_t)y * p->output_h * p->channels;
            for (int32_t x = 0; x < p->output_w; x++) {
                for (int32_t c = 0; c < p->channels && at < end; c++, at++) {
                    out[at] = (int8_t)mean_at(p, in, y, x, c);
                }
            }
        }
    }
    return QN_OK;
}
