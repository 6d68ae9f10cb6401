/* Functions of one byte, as tables: what the plain row makes of every byte, made once, at plan
 * time. */
#include "table.h"

#include <string.h>

#include "../elementwise/kernels.h"
#include "../esp_dl/kernels.h"

/* The steps of a table, of bytes 0..127 and then of the others. */
static void pack_steps(const uint8_t *table, uint8_t *steps) {
    for (int i = 0; i < ENTRIES; i++) {
        const int first = i % (ENTRIES / 2) < SIXTEENTH;
        steps[i] = (uint8_t)(table[i] ^ (first ? 0 : table[i - SIXTEENTH]));
    }
}

typedef int plain_row(const void *params, const qn_buffers *b);

/* params: those of a call of 256 bytes. */
static void pack_table(plain_row *plain, const void *params, const void *weights, int width,
                       uint8_t *packed) {
    uint8_t every[ENTRIES], one[ENTRIES];
    uint16_t values[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        every[i] = (uint8_t)i;
    }
    const qn_buffers b = {.in = {every}, .weights = weights, .out = values};
    (void)plain(params, &b);
    memcpy(packed, values, (size_t)width * ENTRIES);
    packed += width * ENTRIES;
    for (int part = 0; part < width; part++) {
        for (int i = 0; i < ENTRIES; i++) {
            memcpy(one + i, (const uint8_t *)values + i * width + part, 1);
        }
        pack_steps(one, packed + part * ENTRIES);
    }
}

int64_t s_table_packed(const void *params) {
    (void)params;
    return 2 * ENTRIES;
}

int64_t s_table_wide_packed(const void *params) {
    (void)params;
    return 4 * ENTRIES;
}

static void pack_requantize(plain_row *plain, const void *params, int width, void *packed) {
    qn_s_requantize every = *(const qn_s_requantize *)params;
    every.length = ENTRIES;
    pack_table(plain, &every, NULL, width, packed);
}

void s_requantize_s8_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed) {
    (void)weights, (void)bias;
    pack_requantize(s_requantize_s8_s8_ref, params, 1, packed);
}

void s_requantize_s8_u8_table(const void *params, const void *weights, const void *bias,
                              void *packed) {
    (void)weights, (void)bias;
    pack_requantize(s_requantize_s8_u8_ref, params, 1, packed);
}

void s_requantize_u8_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed) {
    (void)weights, (void)bias;
    pack_requantize(s_requantize_u8_s8_ref, params, 1, packed);
}

void s_requantize_s8_s16_table(const void *params, const void *weights, const void *bias,
                               void *packed) {
    (void)weights, (void)bias;
    pack_requantize(s_requantize_s8_s16_ref, params, 2, packed);
}

void s_leaky_relu_s8_table(const void *params, const void *weights, const void *bias,
                           void *packed) {
    (void)weights, (void)bias;
    qn_s_leaky_relu every = *(const qn_s_leaky_relu *)params;
    every.length = ENTRIES;
    pack_table(s_leaky_relu_s8_ref, &every, NULL, 1, packed);
}

void s_rescale_u8_table(const void *params, const void *weights, const void *bias, void *packed) {
    (void)bias;
    qn_s_rescale every = *(const qn_s_rescale *)params;
    every.length = ENTRIES;
    pack_table(s_rescale_u8_ref, &every, weights, 1, packed);
}

static void pack_logistic(plain_row *plain, const void *params, void *packed) {
    qn_s_logistic every = *(const qn_s_logistic *)params;
    every.length = ENTRIES;
    pack_table(plain, &every, NULL, 1, packed);
}

void s_logistic_s8_table(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    pack_logistic(s_logistic_s8_ref, params, packed);
}

void s_tanh_s8_table(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    pack_logistic(s_tanh_s8_ref, params, packed);
}

void s_lookup_s8_table(const void *params, const void *weights, const void *bias, void *packed) {
    (void)params, (void)bias;
    const qn_vector every = {0, ENTRIES};
    pack_table(s_lookup_s8_ref, &every, weights, 1, packed);
}

void s_dl_requantize_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed) {
    (void)weights, (void)bias;
    qn_dl_vector every = *(const qn_dl_vector *)params;
    every.block_size = ENTRIES;
    pack_table(s_dl_requantize_s8_ref, &every, NULL, 1, packed);
}

void s_dl_curve_s8_table(const void *params, const void *weights, const void *bias, void *packed) {
    (void)weights, (void)bias;
    qn_dl_curve every = *(const qn_dl_curve *)params;
    every.block_size = ENTRIES;
    pack_table(s_dl_curve_s8_ref, &every, NULL, 1, packed);
}

/* In place or not. */
static int run_bytes(const qn_buffers *b, int64_t length) {
    const uint8_t *in = b->in[0], *table = b->packed;
    uint8_t *out = b->out;
    for (int64_t i = 0; i < length; i++) {
        out[i] = table[in[i]];
    }
    return QN_OK;
}

static int run_halfwords(const qn_buffers *b, int64_t length) {
    const uint8_t *in = b->in[0];
    const int16_t *table = b->packed;
    int16_t *out = b->out;
    for (int64_t i = 0; i < length; i++) {
        out[i] = table[in[i]];
    }
    return QN_OK;
}

static int requantize_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_requantize *)params)->length);
}

static int requantize_wide_run(const void *params, const qn_buffers *b) {
    return run_halfwords(b, ((const qn_s_requantize *)params)->length);
}

static int leaky_relu_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_leaky_relu *)params)->length);
}

static int rescale_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_rescale *)params)->length);
}

static int logistic_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_s_logistic *)params)->length);
}

static int dl_requantize_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_dl_vector *)params)->block_size);
}

static int dl_curve_run(const void *params, const qn_buffers *b) {
    return run_bytes(b, ((const qn_dl_curve *)params)->block_size);
}

const qn_functions s_requantize_s8_s8_portable = {requantize_run, qn_no_scratch, s_table_packed,
                                                  s_requantize_s8_s8_table, qn_always_pays};

const qn_functions s_requantize_s8_u8_portable = {requantize_run, qn_no_scratch, s_table_packed,
                                                  s_requantize_s8_u8_table, qn_always_pays};

const qn_functions s_requantize_u8_s8_portable = {requantize_run, qn_no_scratch, s_table_packed,
                                                  s_requantize_u8_s8_table, qn_always_pays};

const qn_functions s_requantize_s8_s16_portable = {requantize_wide_run, qn_no_scratch,
                                                   s_table_wide_packed, s_requantize_s8_s16_table,
                                                   qn_always_pays};

const qn_functions s_leaky_relu_s8_portable = {leaky_relu_run, qn_no_scratch, s_table_packed,
                                               s_leaky_relu_s8_table, qn_always_pays};

const qn_functions s_rescale_u8_portable = {rescale_run, qn_no_scratch, s_table_packed,
                                            s_rescale_u8_table, qn_always_pays};

const qn_functions s_logistic_s8_portable = {logistic_run, qn_no_scratch, s_table_packed,
                                             s_logistic_s8_table, qn_always_pays};

const qn_functions s_tanh_s8_portable = {logistic_run, qn_no_scratch, s_table_packed,
                                         s_tanh_s8_table, qn_always_pays};

const qn_functions s_dl_requantize_s8_portable = {dl_requantize_run, qn_no_scratch, s_table_packed,
                                                  s_dl_requantize_s8_table, qn_always_pays};

const qn_functions s_dl_curve_s8_portable = {dl_curve_run, qn_no_scratch, s_table_packed,
                                             s_dl_curve_s8_table, qn_always_pays};
