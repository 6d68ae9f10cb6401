/* GRU and LSTM of ESP-DL, plain. */
#include "recurrent.h"

enum { GRU_GATES = 3, LSTM_GATES = 4, SUM_BITS = 40 };

static int check(const qn_dl_recurrent *p, int gates, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"time_steps", p->time_steps, 1, UINT16_MAX},
        {"input_size", p->input_size, 1, UINT16_MAX},
        {"hidden_size", p->hidden_size, 1, UINT16_MAX / LSTM_GATES},
        {"directions", p->directions, 1, 2},
        {"right_shift", p->right_shift, -30, 30},
        {"state_right_shift", p->state_right_shift, -30, 30},
        {"gate_exponent", p->gate_exponent, -15, 0},
        {"output_exponent", p->output_exponent, -30, 30},
        {"cell", p->cell, 0, 1},
        {"chip", p->chip, QN_DL_C, QN_DL_P4},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int64_t states = (int64_t)p->directions * p->hidden_size, rows = states * gates;
    const int64_t in = (int64_t)p->time_steps * p->input_size, out = p->time_steps * states;
    const int64_t weights = rows * ((int64_t)p->input_size + p->hidden_size);
    const int64_t most = INT32_MAX / element;
    if (in > most || out > most || weights > most) {
        return s_too_large(in > most ? "input" : out > most ? "output" : "filter", why);
    }
    sizes->in[0] = in * element;
    sizes->in[1] = states * element;
    sizes->in[2] = gates == LSTM_GATES ? states * 2 : 0;
    sizes->weights = weights * element;
    sizes->bias = 2 * rows * 2;
    sizes->out = p->cell ? states * 2 : out * element;
    return QN_OK;
}

int s_dl_gru_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, GRU_GATES, 1, sizes, why);
}

int s_dl_gru_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, GRU_GATES, 2, sizes, why);
}

int s_dl_lstm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, LSTM_GATES, 1, sizes, why);
}

int s_dl_lstm_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, LSTM_GATES, 2, sizes, why);
}

int64_t s_dl_gru_scratch(const void *params) {
    const qn_dl_recurrent *p = params;
    return (2 * GRU_GATES + 1) * 2 * (int64_t)p->hidden_size;
}

int64_t s_dl_lstm_scratch(const void *params) {
    const qn_dl_recurrent *p = params;
    return (2 * LSTM_GATES + 2) * 2 * (int64_t)p->hidden_size;
}

/* ---- sums ---- */

static int16_t wrap16(int64_t x) { return (int16_t)(((x & 0xffff) ^ 0x8000) - 0x8000); }

/* A row of a call: its weights from element `first` on, its vector, and its shift. */
typedef struct row {
    const qn_dl_recurrent *p;
    const void *weights, *vector;
    int64_t first, start;
    int32_t size, shift;
    int is_wide, vector_is_wide;
} row;

static int64_t product_at(const row *r, int32_t i) {
    return s_dl_at(r->weights, r->first + i, r->is_wide) *
           s_dl_at(r->vector, r->start + i, r->vector_is_wide);
}

static int16_t dot(const row *r) {
    const int32_t lanes = r->is_wide ? 8 : 16;
    const int is_vector = r->p->chip != QN_DL_C && r->size % lanes == 0 && r->shift >= 0;
    const int64_t most = (INT64_C(1) << (SUM_BITS - 1)) - 1;
    int64_t sum = 0;
    for (int32_t i = 0; i < r->size; i++) {
        sum += product_at(r, i);
        if (is_vector && i % lanes == lanes - 1) {
            sum = qn_clamp64(sum, -most - 1, most);
        }
    }
    if (is_vector) {
        return s_dl_sat16(s_dl_shift(sum, r->shift, r->p->chip));
    }
    return s_dl_sat16(s_dl_round(s_dl_mul((float)sum, s_dl_power(-r->shift)), r->p->chip));
}

/* ---- curves ---- */

static float sigmoid(float x) { return (float)(1.0 / (1.0 + qn_exp_f32(-x))); }

/* |k|, at most the last place of a table up to `end`. */
static int32_t place_of(const qn_dl_recurrent *p, int64_t k, float end) {
    const int64_t most = (int64_t)s_dl_mul(end, s_dl_power(-p->gate_exponent)) + 1;
    const int64_t size = k < 0 ? -k : k;
    return (int32_t)(size < most ? size : most);
}

static float sigmoid_at(const qn_dl_recurrent *p, int64_t k) {
    const int32_t place = place_of(p, k, 6.3f);
    const float found = sigmoid(s_dl_mul((float)place, s_dl_power(p->gate_exponent)));
    return k < 0 ? s_dl_sum(1, -found) : found;
}

static float tanh_at(const qn_dl_recurrent *p, int64_t k) {
    const float x = s_dl_mul((float)place_of(p, k, 3.5f), s_dl_power(p->gate_exponent));
    const float found = s_dl_sum(2 * sigmoid(2 * x), -1);
    return k < 0 ? -found : found;
}

/* ---- steps ---- */

/* A direction of a call: gates of input and state, states, and what it reads. */
typedef struct direction {
    const qn_dl_recurrent *p;
    const qn_buffers *b;
    int32_t number, gates;
    int is_wide;
    int16_t *of_input, *of_state, *h, *c;
} direction;

/* Computes the products of both matrices at a time step, with biases. */
static void sum_gates(const direction *d, int32_t step) {
    const qn_dl_recurrent *p = d->p;
    const int64_t rows = (int64_t)d->gates * p->hidden_size, all = p->directions * rows;
    const int16_t *bias = (const int16_t *)d->b->bias + d->number * 2 * rows;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = d->number * rows + i;
        const row x = {p,
                       d->b->weights,
                       d->b->in[0],
                       at * p->input_size,
                       (int64_t)step * p->input_size,
                       p->input_size,
                       p->right_shift,
                       d->is_wide,
                       d->is_wide};
        const row h = {p,
                       d->b->weights,
                       d->h,
                       all * p->input_size + at * p->hidden_size,
                       0,
                       p->hidden_size,
                       p->state_right_shift,
                       d->is_wide,
                       1};
        d->of_input[i] = wrap16((int64_t)dot(&x) + bias[i]);
        d->of_state[i] = wrap16((int64_t)dot(&h) + bias[rows + i]);
    }
}

static int16_t saturated(const direction *d, int64_t x) {
    return d->is_wide ? s_dl_sat16(x) : s_dl_sat8(x);
}

static void step_gru(const direction *d) {
    const int32_t width = d->p->hidden_size;
    const float scale = s_dl_power(-d->p->output_exponent);
    for (int32_t i = 0; i < width; i++) {
        const int32_t reset = width + i, last = 2 * width + i;
        const float z = sigmoid_at(d->p, (int64_t)d->of_input[i] + d->of_state[i]);
        const float r = sigmoid_at(d->p, (int64_t)d->of_input[reset] + d->of_state[reset]);
        const float sum = s_dl_sum(d->of_input[last], s_dl_mul(r, d->of_state[last]));
        const float n = tanh_at(d->p, s_dl_round(sum, d->p->chip));
        const float fresh = s_dl_mul(s_dl_mul(s_dl_sum(1, -z), n), scale);
        const float v = s_dl_sum(fresh, s_dl_mul(z, d->h[i]));
        d->h[i] = saturated(d, s_dl_round(v, d->p->chip));
    }
}

static void step_lstm(const direction *d) {
    const int32_t width = d->p->hidden_size;
    const float scale = s_dl_power(-d->p->output_exponent);
    const float cell_scale = s_dl_power(-d->p->gate_exponent);
    for (int32_t i = 0; i < width; i++) {
        int16_t sums[LSTM_GATES];
        for (int32_t gate = 0; gate < LSTM_GATES; gate++) {
            const int64_t at = (int64_t)gate * width + i;
            sums[gate] = wrap16((int64_t)d->of_input[at] + d->of_state[at]);
        }
        const float in = sigmoid_at(d->p, sums[0]), out = sigmoid_at(d->p, sums[1]);
        const float forget = sigmoid_at(d->p, sums[2]), cell = tanh_at(d->p, sums[3]);
        const float fresh = s_dl_mul(s_dl_mul(in, cell), cell_scale);
        const float kept = s_dl_mul(forget, d->c[i]);
        d->c[i] = wrap16(s_dl_round(s_dl_sum(kept, fresh), d->p->chip));
        const float v = s_dl_mul(s_dl_mul(out, tanh_at(d->p, d->c[i])), scale);
        d->h[i] = saturated(d, s_dl_round(v, d->p->chip));
    }
}

static void run_direction(const direction *d) {
    const qn_dl_recurrent *p = d->p;
    const int64_t first = (int64_t)d->number * p->hidden_size;
    for (int32_t i = 0; i < p->hidden_size; i++) {
        d->h[i] = (int16_t)s_dl_at(d->b->in[1], first + i, d->is_wide);
        if (d->gates == LSTM_GATES) {
            d->c[i] = ((const int16_t *)d->b->in[2])[first + i];
        }
    }
    for (int32_t turn = 0; turn < p->time_steps; turn++) {
        const int32_t step = d->number ? p->time_steps - 1 - turn : turn;
        sum_gates(d, step);
        if (d->gates == LSTM_GATES) {
            step_lstm(d);
        } else {
            step_gru(d);
        }
        for (int32_t i = 0; !p->cell && i < p->hidden_size; i++) {
            const int64_t at = ((int64_t)step * p->directions + d->number) * p->hidden_size + i;
            s_dl_put(d->b->out, at, d->h[i], d->is_wide);
        }
    }
    for (int32_t i = 0; p->cell && i < p->hidden_size; i++) {
        ((int16_t *)d->b->out)[first + i] = d->c[i];
    }
}

static int run(const qn_dl_recurrent *p, const qn_buffers *b, int32_t gates, int is_wide) {
    const int64_t rows = (int64_t)gates * p->hidden_size;
    int16_t *own = b->scratch;
    for (int32_t number = 0; number < p->directions; number++) {
        const direction d = {p,
                             b,
                             number,
                             gates,
                             is_wide,
                             own,
                             own + rows,
                             own + 2 * rows,
                             own + 2 * rows + p->hidden_size};
        run_direction(&d);
    }
    return QN_OK;
}

int s_dl_gru_s8_ref(const void *params, const qn_buffers *b) {
    return run(params, b, GRU_GATES, 0);
}

int s_dl_gru_s16_ref(const void *params, const qn_buffers *b) {
    return run(params, b, GRU_GATES, 1);
}

int s_dl_lstm_s8_ref(const void *params, const qn_buffers *b) {
    return run(params, b, LSTM_GATES, 0);
}

int s_dl_lstm_s16_ref(const void *params, const qn_buffers *b) {
    return run(params, b, LSTM_GATES, 1);
}
