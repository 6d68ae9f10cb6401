/* Legal parameters of an LSTM of the s8 and s16 API. */
#include "lstm.h"

/* element, bias: bytes of one; shift: the most of a gate. */
typedef struct kind {
    int64_t element, bias;
    int32_t shift;
} kind;

static int options(const qn_s_lstm *p, char *why) {
    const s_range all[] = {
        {"time_major", p->time_major, 0, 1},
        {"has_cell_state", p->has_cell_state, 0, 1},
        {"has_hidden_state", p->has_hidden_state, 0, p->has_cell_state * S_LSTM_OWN},
        {"batch_size", p->batch_size, 1, UINT16_MAX},
        {"time_steps", p->time_steps, 1, UINT16_MAX},
        {"input_size", p->input_size, 1, UINT16_MAX},
        {"hidden_size", p->hidden_size, 1, UINT16_MAX},
        {"forget_to_cell_multiplier", p->forget_to_cell_multiplier, 0, INT32_MAX},
        {"forget_to_cell_shift", p->forget_to_cell_shift, -31, -1},
        {"input_to_cell_multiplier", p->input_to_cell_multiplier, 0, INT32_MAX},
        {"input_to_cell_shift", p->input_to_cell_shift, -31, -1},
        {"cell_clip", p->cell_clip, 0, INT16_MAX},
        {"cell_scale_power", p->cell_scale_power, -42, 2},
        {"output_multiplier", p->output_multiplier, 0, INT32_MAX},
        {"output_shift", p->output_shift, -31, -1},
        {"output_offset", p->output_offset, -S_OFFSET_MOST, S_OFFSET_MOST},
        {"forget_activation_type", p->forget_activation_type, 0, 1},
        {"input_gate_activation_type", p->input_gate_activation_type, 0, 1},
        {"cell_activation_type", p->cell_activation_type, 0, 1},
        {"output_gate_activation_type", p->output_gate_activation_type, 0, 1},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

static int gates(const qn_s_lstm *p, const kind *k, char *why) {
    const s_range all[] = {
        {"forget_input_multiplier", p->forget_input_multiplier, 0, INT32_MAX},
        {"forget_input_shift", p->forget_input_shift, -31, k->shift},
        {"forget_hidden_multiplier", p->forget_hidden_multiplier, 0, INT32_MAX},
        {"forget_hidden_shift", p->forget_hidden_shift, -31, k->shift},
        {"input_gate_input_multiplier", p->input_gate_input_multiplier, 0, INT32_MAX},
        {"input_gate_input_shift", p->input_gate_input_shift, -31, k->shift},
        {"input_gate_hidden_multiplier", p->input_gate_hidden_multiplier, 0, INT32_MAX},
        {"input_gate_hidden_shift", p->input_gate_hidden_shift, -31, k->shift},
        {"cell_input_multiplier", p->cell_input_multiplier, 0, INT32_MAX},
        {"cell_input_shift", p->cell_input_shift, -31, k->shift},
        {"cell_hidden_multiplier", p->cell_hidden_multiplier, 0, INT32_MAX},
        {"cell_hidden_shift", p->cell_hidden_shift, -31, k->shift},
        {"output_gate_input_multiplier", p->output_gate_input_multiplier, 0, INT32_MAX},
        {"output_gate_input_shift", p->output_gate_input_shift, -31, k->shift},
        {"output_gate_hidden_multiplier", p->output_gate_hidden_multiplier, 0, INT32_MAX},
        {"output_gate_hidden_shift", p->output_gate_hidden_shift, -31, k->shift},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

/* Has the release what a caller's hidden state is passed in? */
static int release(const qn_s_lstm *p, char *why) {
    if (p->has_hidden_state && p->has_hidden_state != S_LSTM_OWN &&
        qn_release(p->profile) == QN_RELEASE_700) {
        return qn_deny(
            why, QN_REFUSED,
            "CMSIS-NN 7.0.0 takes no hidden state (its cmsis_nn_lstm_context has none) and "
            "starts every call anew; use cmsis='main-2026-07', or no hidden_state");
    }
    return QN_OK;
}

static int check(const qn_s_lstm *p, const kind *k, qn_sizes *sizes, char *why) {
    int status = options(p, why);
    status = status == QN_OK ? release(p, why) : status;
    status = status == QN_OK ? gates(p, k, why) : status;
    if (status != QN_OK) {
        return status;
    }
    const int32_t steps = p->time_steps, size = p->hidden_size;
    int64_t in = s_elements(k->element, (int32_t[]){p->batch_size, steps, p->input_size}, 3);
    int64_t out = s_elements(k->element, (int32_t[]){p->batch_size, steps, size}, 3);
    int64_t weights = s_elements(1, (int32_t[]){4, size, p->input_size + size}, 3);
    int64_t state = s_elements(2, (int32_t[]){p->batch_size, size}, 2);
    if (in < 0 || out < 0 || weights < 0 || state < 0) {
        const char *bad = in < 0 ? "input" : out < 0 ? "output" : weights < 0 ? "weights" : "state";
        return s_too_large(bad, why);
    }
    sizes->in[0] = in * k->element;
    sizes->in[1] = p->has_cell_state ? state * 2 : 0;
    sizes->in[2] = p->has_hidden_state ? state * k->element : 0;
    sizes->weights = weights;
    sizes->bias = 8 * size * k->bias;
    sizes->out = out * k->element;
    return QN_OK;
}

int s_lstm_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &(kind){1, 4, 30}, sizes, why);
}

int s_lstm_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return check(params, &(kind){2, 8, 7}, sizes, why);
}

int64_t s_lstm_cell_bytes(const void *params) { return s_lstm_state_bytes(params); }
