/* Fully connected layer of ESP-NN on an ESP32-S3, plain. */
#include "fully_connected.h"

static int check(const qn_s_esp_fc *p, qn_sizes *sizes, char *why) {
    const qn_s_fc plain = {
        .profile = p->profile,
        .batches = p->batches,
        .input_c = p->input_c,
        .output_c = p->output_c,
        .input_offset = p->input_offset,
        .filter_offset = p->filter_offset,
        .output_offset = p->output_offset,
        .act_min = p->act_min,
        .act_max = p->act_max,
        .multiplier = p->multiplier,
        .shift = p->shift,
    };
    int status = qn_in_range("input_align", p->input_align, 0, 15, why);
    return status == QN_OK ? s_fully_connected_s8_check(&plain, sizes, why) : status;
}

int s_esp_fully_connected_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, sizes, why);
}

int s_esp_fully_connected_per_channel_s8_check(const void *params, qn_sizes *sizes, char *why) {
    int status = check(params, sizes, why);
    sizes->bias *= 3;
    return status;
}

/* Element c of row n, as the kernel loads it. */
static int32_t element(const qn_s_esp_fc *p, const int8_t *in, int32_t n, int32_t c) {
    const int64_t start = (int64_t)n * p->input_c;
    const int64_t shift = (p->input_align + start) % 8;
    const int64_t at = start + c - (c < p->input_c / 8 * 8 ? shift : 0);
    return at < 0 ? 0 : in[at];
}

/* multiplier and shift of output o are those of index step * o. */
static int run(const qn_s_esp_fc *p, const qn_buffers *b, const s_channels *q, int step) {
    const s_epilogue epilogue = {p->profile, p->output_offset, p->act_min, p->act_max};
    int8_t *out = b->out;
    for (int32_t n = 0; n < p->batches; n++) {
        const int8_t *filter = b->weights;
        for (int32_t o = 0; o < p->output_c; o++, filter += p->input_c) {
            uint32_t acc = (uint32_t)q->bias[o];
            for (int32_t c = 0; c < p->input_c; c++) {
                int32_t x = element(p, b->in[0], n, c) + p->input_offset;
                acc += (uint32_t)(x * (filter[c] + p->filter_offset));
            }
            *out++ = (int8_t)s_output(&epilogue, qn_wrap32(acc), q->multiplier[step * o],
                                      q->shift[step * o]);
        }
    }
    return QN_OK;
}

int s_esp_fully_connected_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_esp_fc *p = params;
    const s_channels q = {b->bias, &p->multiplier, &p->shift};
    return run(p, b, &q, 0);
}

int s_esp_fully_connected_per_channel_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_esp_fc *p = params;
    const s_channels q = s_channels_of(b->bias, p->output_c);
    return run(p, b, &q, 1);
}
