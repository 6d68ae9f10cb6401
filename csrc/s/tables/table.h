/* Functions of one byte as tables of what the plain row makes of every byte: of `width` bytes each,
 * and after them what instructions that look up sixteen entries want (table_avx2.c). */
#ifndef QN_S_TABLE_H
#define QN_S_TABLE_H

#include "../affine.h"
#include "kernels.h"

enum { ENTRIES = 256, SIXTEENTH = 16 };

static inline const uint8_t *s_steps_of(const qn_buffers *b, int width) {
    return (const uint8_t *)b->packed + width * ENTRIES;
}

/* Bytes of a table, and the tables of the ops. */
int64_t s_table_packed(const void *params);
int64_t s_table_wide_packed(const void *params);
void s_requantize_s8_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed);
void s_requantize_s8_u8_table(const void *params, const void *weights, const void *bias,
                              void *packed);
void s_requantize_u8_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed);
void s_requantize_s8_s16_table(const void *params, const void *weights, const void *bias,
                               void *packed);
void s_leaky_relu_s8_table(const void *params, const void *weights, const void *bias, void *packed);
void s_rescale_u8_table(const void *params, const void *weights, const void *bias, void *packed);
void s_logistic_s8_table(const void *params, const void *weights, const void *bias, void *packed);
void s_tanh_s8_table(const void *params, const void *weights, const void *bias, void *packed);
void s_lookup_s8_table(const void *params, const void *weights, const void *bias, void *packed);
void s_dl_requantize_s8_table(const void *params, const void *weights, const void *bias,
                              void *packed);
void s_dl_curve_s8_table(const void *params, const void *weights, const void *bias, void *packed);

#endif
