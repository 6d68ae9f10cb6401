/* What the loops over steps (exec.c) and over tasks (team.c) share. */
#ifndef QN_EXEC_H
#define QN_EXEC_H

#include "qn.h"

/* Fields of the largest struct that is cut; bytes of an op's, 0 where it is not cut. */
enum { QN_MOST_FIELDS = 32 };
size_t qn_cut_bytes(const qn_op *op);

/* The arena as sample n finds it, and the input of one turn: one time step of one sample. */
void qn_load_sample(const qn_plan *plan, char *arena, int64_t n, const void *state);
void qn_load_input(const qn_plan *plan, char *arena, int64_t turn, const void *x);

int qn_run_step(const qn_step *step, char *arena);

/* Steps first..last-1 in turn, after each its stores, and at first those of the step before. */
int qn_run_steps(const qn_plan *plan, char *arena, int64_t turn, void *const *outputs,
                 int64_t first, int64_t last);

#endif
