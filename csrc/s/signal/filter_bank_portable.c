/* The filter bank of the Signal library: the ends of each channel are found before its sums. */
#include "filter_bank.h"

/* Elements of the weights and of the input that channels multiply, as the contract says. */
typedef struct channel {
    int32_t first, end, input, weight;
} channel;

static channel channel_of(const qn_signal_filter_bank *p, int32_t start, int32_t weight,
                          int32_t width) {
    channel c = {0, width, start, weight};
    c.first = start < 0 && -start > c.first ? -start : c.first;
    c.first = weight < 0 && -weight > c.first ? -weight : c.first;
    c.end = p->length - start < c.end ? p->length - start : c.end;
    c.end = p->num_weights - weight < c.end ? p->num_weights - weight : c.end;
    return c;
}

int s_signal_filter_bank_u32_portable(const void *params, const qn_buffers *b) {
    const qn_signal_filter_bank *p = params;
    const uint32_t *in = b->in[0];
    const int16_t *weights = b->weights, *unweights = weights + p->num_weights;
    const int16_t *starts = unweights + p->num_weights;
    const int16_t *weight_starts = starts + p->num_channels + 1;
    const int16_t *widths = weight_starts + p->num_channels + 1;
    uint64_t *out = b->out, weighted = 0;
    for (int32_t c = 0; c <= p->num_channels; c++) {
        const channel of = channel_of(p, starts[c], weight_starts[c], widths[c]);
        uint64_t unweighted = 0;
        for (int32_t j = of.first; j < of.end; j++) {
            const uint64_t x = in[of.input + j];
            weighted += (uint64_t)(int64_t)weights[of.weight + j] * x;
            unweighted += (uint64_t)(int64_t)unweights[of.weight + j] * x;
        }
        if (c > 0) {
            out[c - 1] = weighted;
        }
        weighted = unweighted;
    }
    return QN_OK;
}
