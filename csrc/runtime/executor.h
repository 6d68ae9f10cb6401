/* Functions for the loops over steps (executor.c) and over tasks (parallel_for.c). */
#ifndef QN_EXECUTOR_H
#define QN_EXECUTOR_H

#include "../include/qn.h"

/* A thread's checks for the end of a run that is not done. look() sets `left` anew and returns 1 to
 * stop now. */
typedef struct qn_watch qn_watch;
struct qn_watch {
    int (*look)(qn_watch *watch);
    qn_ask *ask; /* NULL: another thread asks */
    void *job;
    int64_t every, left; /* steps from one check to the next; steps left until then */
    int64_t since;       /* time of the last question in ns; 0: no check yet */
    int64_t turn, step;  /* of the step that has failed */
};

/* Copy turn and step to failed[2] if a step has failed and failed is not NULL. */
void qn_tell_failed(const qn_watch *watch, int status, int64_t *failed);

qn_watch qn_watch_of(const qn_plan *plan, qn_ask *ask);

/* Ask if enough time has passed since the last question. Return 1 if the answer was to stop. */
int qn_watch_asks(qn_watch *watch);

static inline int qn_watch_stops(qn_watch *watch) {
    return --watch->left < 0 && watch->look(watch);
}

/* Fields of the largest struct of parameters that is split. */
enum { QN_MOST_FIELDS = 32 };

/* Prepare the arena: clear it and load the states of sample n, or load the input of one turn. A
 * turn is one time step of one sample. */
void qn_load_sample(const qn_plan *plan, char *arena, int64_t n, const void *state);
void qn_load_input(const qn_plan *plan, char *arena, int64_t turn, const void *x);

/* Return the step after the jump at step i. store: the index of the next store, in and out. */
int64_t qn_jump(const qn_plan *plan, int64_t i, const char *arena, int64_t *store);
int qn_jump_check(const qn_plan *plan, const qn_step *jump, char *why);

int qn_run_step(const qn_step *step, char *arena);

/* Run steps first..last-1, and the stores after each step. The stores after step first-1 are
 * first. */
int qn_run_steps(const qn_plan *plan, char *arena, int64_t turn, void *const *outputs,
                 int64_t first, int64_t last, qn_watch *watch);

/* Run samples first..last-1. */
int qn_run_samples(const qn_plan *plan, void *arena, int64_t first, int64_t last, int64_t times,
                   const void *x, const void *state, void *const *outputs, qn_watch *watch);

#endif
