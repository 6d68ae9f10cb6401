/* LSTM of the s8 and s16 API, plain. */
#include "lstm.h"

#include <string.h>

#include "../tables/activation.h"
#include "../wide_sum.h"

/* Half of a gate: weights [j][count], effective bias [j]. */
typedef struct half {
    const int8_t *weights;
    const char *bias;
    int32_t count, multiplier, shift;
} half;

typedef struct gate {
    half input, hidden;
    int32_t type;
} gate;

/* product: one requantized sum of a half; element, bias: bytes of one in the data, in a bias. */
typedef struct lstm {
    const qn_s_lstm *p;
    gate forget, input, cell, output;
    int32_t (*product)(const qn_s_lstm *p, const half *h, const void *x, int32_t j);
    int64_t element, bias;
    int32_t low, high;
} lstm;

static int32_t product_s8(const qn_s_lstm *p, const half *h, const void *x, int32_t j) {
    const int8_t *values = x, *weights = h->weights + (int64_t)j * h->count;
    uint32_t acc = (uint32_t)((const int32_t *)(const void *)h->bias)[j];
    for (int32_t i = 0; i < h->count; i++) {
        acc += (uint32_t)(values[i] * weights[i]);
    }
    if (qn_path(p->profile) == QN_PATH_MVE && j < p->hidden_size - p->hidden_size % 4) {
        return qn_requantize_lane(p->profile, qn_wrap32(acc), h->multiplier, h->shift);
    }
    return qn_requantize(p->profile, qn_wrap32(acc), h->multiplier, h->shift);
}

static int32_t product_s16(const qn_s_lstm *p, const half *h, const void *x, int32_t j) {
    const int8_t *weights = h->weights + (int64_t)j * h->count;
    int64_t bias = ((const int64_t *)(const void *)h->bias)[j];
    int64_t acc = s_wide_sum(p->profile, x, weights, h->count, bias, 1);
    return qn_requantize64(acc, h->multiplier, h->shift);
}

/* The halves of gate `index` point into the arrays. */
static void point(const lstm *l, gate *g, int64_t index, const qn_buffers *b) {
    const int64_t columns = l->p->input_size, rows = l->p->hidden_size;
    g->input.count = (int32_t)columns;
    g->hidden.count = (int32_t)rows;
    g->input.weights = (const int8_t *)b->weights + index * rows * (columns + rows);
    g->hidden.weights = g->input.weights + rows * columns;
    g->input.bias = (const char *)b->bias + 2 * index * rows * l->bias;
    g->hidden.bias = g->input.bias + rows * l->bias;
}

static gate gate_of(int32_t input_multiplier, int32_t input_shift, int32_t hidden_multiplier,
                    int32_t hidden_shift, int32_t type) {
    return (gate){.input = {.multiplier = input_multiplier, .shift = input_shift},
                  .hidden = {.multiplier = hidden_multiplier, .shift = hidden_shift},
                  .type = type};
}

static void find_gates(lstm *l, const qn_buffers *b) {
    const qn_s_lstm *p = l->p;
    l->forget =
        gate_of(p->forget_input_multiplier, p->forget_input_shift, p->forget_hidden_multiplier,
                p->forget_hidden_shift, p->forget_activation_type);
    l->input = gate_of(p->input_gate_input_multiplier, p->input_gate_input_shift,
                       p->input_gate_hidden_multiplier, p->input_gate_hidden_shift,
                       p->input_gate_activation_type);
    l->cell = gate_of(p->cell_input_multiplier, p->cell_input_shift, p->cell_hidden_multiplier,
                      p->cell_hidden_shift, p->cell_activation_type);
    l->output = gate_of(p->output_gate_input_multiplier, p->output_gate_input_shift,
                        p->output_gate_hidden_multiplier, p->output_gate_hidden_shift,
                        p->output_gate_activation_type);
    point(l, &l->forget, 0, b);
    point(l, &l->input, 1, b);
    point(l, &l->cell, 2, b);
    point(l, &l->output, 3, b);
}

/* Parts of a sum have 16 bits of their own in TensorFlow Lite Micro's kernel. */
static int32_t part_of(const qn_s_lstm *p, int32_t value) {
    return p->has_hidden_state == S_LSTM_OWN ? qn_sat16(value) : value;
}

/* hidden: NULL in a first step without a state. */
static int32_t gate_value(const lstm *l, const gate *g, const char *x, const char *hidden,
                          int32_t j) {
    int16_t sum = qn_sat16(l->product(l->p, &g->input, x, j));
    if (hidden) {
        sum = qn_sat16(qn_add32(part_of(l->p, l->product(l->p, &g->hidden, hidden, j)), sum));
    }
    int32_t v = s_activation_input(sum, 0);
    return g->type == 0 ? s_sigmoid_s16(v) : s_tanh_s16(v);
}

static int32_t next_cell(const qn_s_lstm *p, int32_t cell, int32_t forget, int32_t input,
                         int32_t candidate) {
    int32_t kept = qn_sat16(qn_requantize(p->profile, forget * cell, p->forget_to_cell_multiplier,
                                          p->forget_to_cell_shift));
    int32_t added = qn_requantize(p->profile, input * candidate, p->input_to_cell_multiplier,
                                  p->input_to_cell_shift);
    int32_t low = p->cell_clip ? -p->cell_clip : INT16_MIN;
    int32_t high = p->cell_clip ? p->cell_clip : INT16_MAX;
    return qn_clamp(qn_add32(part_of(p, added), kept), low, high);
}

/* One time step of one batch: cell [j], out [j]. */
static void step(const lstm *l, const char *x, const char *hidden, int16_t *cell, char *out) {
    const qn_s_lstm *p = l->p;
    for (int32_t j = 0; j < p->hidden_size; j++) {
        int32_t forget = gate_value(l, &l->forget, x, hidden, j);
        int32_t input = gate_value(l, &l->input, x, hidden, j);
        int32_t candidate = gate_value(l, &l->cell, x, hidden, j);
        int32_t output = gate_value(l, &l->output, x, hidden, j);
        cell[j] = (int16_t)next_cell(p, cell[j], forget, input, candidate);
        int32_t shown = s_tanh_s16(s_activation_input(cell[j], p->cell_scale_power + 12));
        int32_t value =
            qn_requantize(p->profile, output * shown, p->output_multiplier, p->output_shift);
        value = qn_clamp(qn_add32(value, p->output_offset), l->low, l->high);
        if (l->element == 1) {
            ((int8_t *)out)[j] = (int8_t)value;
        } else {
            ((int16_t *)(void *)out)[j] = (int16_t)value;
        }
    }
}

/* All steps of batch n; hidden, cell: its states, hidden NULL without one. */
static void sequence(const lstm *l, const qn_buffers *b, int64_t n, char *hidden, int16_t *cell) {
    const qn_s_lstm *p = l->p;
    const int64_t in_bytes = p->input_size * l->element, out_bytes = p->hidden_size * l->element;
    const char *before = hidden;
    for (int64_t t = 0; t < p->time_steps; t++) {
        int64_t at = p->time_major ? t * p->batch_size + n : n * p->time_steps + t;
        char *out = (char *)b->out + at * out_bytes;
        step(l, (const char *)b->in[0] + at * in_bytes, before, cell, out);
        before = out;
    }
    if (hidden) {
        memcpy(hidden, before, (size_t)out_bytes);
    }
}

static int run(lstm *l, const qn_buffers *b) {
    const qn_s_lstm *p = l->p;
    const int64_t size = p->hidden_size;
    int16_t *cell = p->has_cell_state ? b->in[1] : b->scratch;
    if (!p->has_hidden_state) {
        memset(cell, 0, (size_t)(p->batch_size * size * 2));
    }
    find_gates(l, b);
    for (int64_t n = 0; n < p->batch_size; n++) {
        char *hidden = p->has_hidden_state ? (char *)b->in[2] + n * size * l->element : NULL;
        sequence(l, b, n, hidden, cell + n * size);
    }
    return QN_OK;
}

int s_lstm_s8_ref(const void *params, const qn_buffers *b) {
    return run(&(lstm){.p = params,
                       .product = product_s8,
                       .element = 1,
                       .bias = 4,
                       .low = INT8_MIN,
                       .high = INT8_MAX},
               b);
}

int s_lstm_s16_ref(const void *params, const qn_buffers *b) {
    return run(&(lstm){.p = params,
                       .product = product_s16,
                       .element = 2,
                       .bias = 8,
                       .low = INT16_MIN,
                       .high = INT16_MAX},
               b);
}
