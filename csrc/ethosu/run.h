/* Parts of the executor of programs that the rows of run.c and engine.c share. */
#ifndef QN_ETHOSU_RUN_H
#define QN_ETHOSU_RUN_H

#include "program.h"

/* A run: the program, its memory by region, and memory for one operation. */
struct eu_runner {
    const eu_program *program;
    const uint8_t *block;
    uint8_t *memory[EU_ALL_REGIONS];
    uint8_t *work;
};

/* Offset of element (y, x) of channel 0 in the region of a map. */
int64_t eu_offset(const eu_map *m, int32_t y, int32_t x);

/* Elements of a map. */
int64_t eu_cells(const eu_map *m);

/* Return the address of a map whose elements follow each other [y][x][c] without gaps, or NULL. */
uint8_t *eu_dense(const eu_runner *r, const eu_map *m);

/* Copy a map of bytes to dense memory, or from there. */
void eu_load_bytes(const eu_runner *r, const eu_map *m, uint8_t *to);
void eu_store_bytes(const eu_runner *r, const eu_map *m, uint8_t *from);

/* Write a row of the computed map, [x][c]. */
void eu_store_row(const eu_runner *r, const eu_operation *op, int32_t y, const int64_t *values);

/* Scale and store a row of accumulators [x][c], or keep them. */
void eu_end_row(const eu_runner *r, const eu_operation *op, int32_t y, int64_t *acc);

/* Return a result before its table, of an operation on single elements; then that of the table. */
int64_t eu_value_of(const eu_operation *op, int product, int64_t in);
int64_t eu_look_up(const eu_runner *r, const eu_operation *op, int64_t v);

eu_dot eu_dot_avx2;

/* Compute one operation, plain. */
int eu_run_operation(const eu_runner *r, const eu_operation *op);

#endif
