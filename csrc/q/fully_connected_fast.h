/* Fully connected layers on the engine of gemm/: one pixel, one run. Included by the dense_*.c
 * files after gemm/tile.h, the types that pixels_fast.h names, and
 *   coefficient      int8_t or int16_t: of weights and bias as the device has them
 *   OPT_ORDER        how the _opt functions of this type interleave */
#ifndef QN_Q_FULLY_CONNECTED_FAST_H
#define QN_Q_FULLY_CONNECTED_FAST_H

#include <string.h>

#include "fully_connected.h"
#include "pixels_fast.h"

static gemm_shape fc_shape(const qn_fc *p) {
    gemm_shape shape = {.rows = 1,
                        .columns = 1,
                        .channels = p->num_of_rows,
                        .alone = 1,
                        .runs = 1,
                        .steps = (p->dim_vec + PER_STEP - 1) / PER_STEP};
    return shape;
}

/* Weights as gemm_pack() asks for them, row-major or interleaved. */
typedef struct fc_filters {
    const qn_fc *p;
    const coefficient *weights, *bias;
    int interleaved;
} fc_filters;

static coefficient fc_weight(const fc_filters *f, int64_t r, int64_t j) {
    int64_t row_major = r * f->p->dim_vec + j;
    return f->weights[f->interleaved ? q_fc_opt_index(f->p, OPT_ORDER, (int32_t)r, (int32_t)j)
                                     : row_major];
}

static int32_t fc_start_of(const void *context, int64_t r) {
    const fc_filters *f = context;
    const qn_fc *p = f->p;
    if (r >= p->num_of_rows) {
        return 0;
    }
    uint32_t acc = qn_acc_start(f->bias[r], p->bias_shift, qn_round_term(p->profile, p->out_shift));
    for (int64_t j = 0; j < p->dim_vec; j++) {
        acc -= (uint32_t)(OFFSET * fc_weight(f, r, j));
    }
    return qn_wrap32(acc);
}

static uint32_t fc_weights_of(const void *context, int64_t r, int64_t run, int64_t k) {
    const fc_filters *f = context;
    weight step[PER_STEP] = {0};
    (void)run;
    for (int64_t i = 0; i < PER_STEP && r < f->p->num_of_rows; i++) {
        int64_t j = k * PER_STEP + i;
        step[i] = j < f->p->dim_vec ? fc_weight(f, r, j) : 0;
    }
    uint32_t dword;
    memcpy(&dword, step, sizeof dword);
    return dword;
}

static int64_t fc_packed(const qn_fc *p) {
    gemm_shape shape = fc_shape(p);
    return gemm_packed_bytes(&shape);
}

static void fc_pack(const qn_fc *p, const coefficient *weights, const coefficient *bias,
                    int interleaved, int32_t *packed) {
    gemm_shape shape = fc_shape(p);
    fc_filters f = {p, weights, bias, interleaved};
    gemm_filters of = {&f, fc_start_of, fc_weights_of};
    gemm_pack(&shape, &of, packed);
}

static int64_t fc_scratch(const qn_fc *p) { return p->dim_vec * (int64_t)sizeof(pixel) + SLACK; }

static int fc_run(const qn_fc *p, const qn_buffers *b) {
    gemm_shape shape = fc_shape(p);
    stage last = stage_of(p->out_shift, p->relu);
    pixel *vector = b->scratch;
    copy(vector, b->in[0], p->dim_vec);
    fill(vector + p->dim_vec, SLACK / (int64_t)sizeof(pixel));
    gemm_run(&shape, b->scratch, b->packed, b->out, &last);
    return QN_OK;
}

int ROW(fc, )(const void *params, const qn_buffers *b) { return fc_run(params, b); }

int64_t ROW(fc, _scratch)(const void *params) { return fc_scratch(params); }

int64_t ROW(fc, _packed)(const void *params) { return fc_packed(params); }

void ROW(fc, _pack)(const void *params, const void *weights, const void *bias, void *packed) {
    fc_pack(params, weights, bias, 0, packed);
}

void ROW(fc, _pack_opt)(const void *params, const void *weights, const void *bias, void *packed) {
    fc_pack(params, weights, bias, 1, packed);
}

#endif
