/* What an LSTM on AVX2 reads, made once, at plan time. Included by lstm_<type>_avx2.c after
 * lstm_fast.h and
 *   bias_type          int32_t or int64_t
 *   pack_gate_pair()   rows of one of the gates' pairs, as requantized_gate() reads them */
#ifndef QN_S_LSTM_PACK_H
#define QN_S_LSTM_PACK_H

static void pack_pairs(const qn_s_lstm *p, int32_t *rows) {
    const int32_t gates[2 * GATES][2] = {
        {p->forget_input_multiplier, p->forget_input_shift},
        {p->input_gate_input_multiplier, p->input_gate_input_shift},
        {p->cell_input_multiplier, p->cell_input_shift},
        {p->output_gate_input_multiplier, p->output_gate_input_shift},
        {p->forget_hidden_multiplier, p->forget_hidden_shift},
        {p->input_gate_hidden_multiplier, p->input_gate_hidden_shift},
        {p->cell_hidden_multiplier, p->cell_hidden_shift},
        {p->output_gate_hidden_multiplier, p->output_gate_hidden_shift},
    };
    for (int i = 0; i < 2 * GATES; i++) {
        pack_gate_pair(p, gates[i][0], gates[i][1], rows + i * ROWS);
    }
    pack_exact_pair(p, p->forget_to_cell_multiplier, p->forget_to_cell_shift, rows + KEPT * ROWS);
    pack_exact_pair(p, p->input_to_cell_multiplier, p->input_to_cell_shift, rows + ADDED * ROWS);
    pack_exact_pair(p, p->output_multiplier, p->output_shift, rows + SHOWN * ROWS);
}

/* One half of one gate: its weights, from row `first` of the matrix on, and biases. Whether a sum with
 * its bias can leave 32 bits, of data of 16. */
static int pack_half(const int8_t *weights, int64_t rows, int64_t columns, int64_t first,
                     int32_t *matrix, const bias_type *bias, int32_t *biases) {
    int leaves = 0;
    for (int64_t j = 0; j < rows; j++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < columns; i++) {
            const int16_t w = *weights++;
            memcpy((int16_t *)(void *)dot_at(matrix, columns, first + j, i) + i % 2, &w, 2);
            sum += w < 0 ? -w : w;
        }
        const int64_t room = INT32_MAX + INT16_MIN * sum, own = bias[j];
        leaves |= room < 0 || own > room || own < -room;
        biases[first + j] = s_low(own);
    }
    return leaves;
}

static void lstm_pack(const qn_s_lstm *p, const int8_t *weights, const bias_type *bias,
                      int32_t *packed) {
    const int64_t columns = p->input_size, rows = p->hidden_size;
    int32_t *biases = packed + biases_at();
    int leaves = 0;
    memset(packed, 0, (size_t)lstm_packed(p));
    pack_pairs(p, packed + HEAD);
    for (int g = 0; g < GATES; g++, weights += rows * rows, bias += rows) {
        const int64_t first = g * eights(p);
        leaves |= pack_half(weights, rows, columns, first, packed + inputs_at(p), bias, biases);
        weights += rows * columns;
        bias += rows;
        leaves |= pack_half(weights, rows, rows, first, packed + hiddens_at(p), bias,
                            biases + GATES * eights(p));
    }
    packed[0] = BYTES == 2 && leaves;
}

#endif
