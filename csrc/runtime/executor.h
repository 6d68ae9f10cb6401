/* What the loops over steps (executor.c) and over tasks (thread_pool.c) share. */
#ifndef QN_EXECUTOR_H
#define QN_EXECUTOR_H

#include "../include/qn.h"

/* When a thread must leave a run that is not done. look(): not 0: now; it sets `left` anew. */
typedef struct qn_watch qn_watch;
struct qn_watch {
    int (*look)(qn_watch *watch);
    qn_ask *ask; /* NULL: another thread asks */
    void *job;
    int64_t every, left; /* steps from one look to the next, and until then */
    int64_t since;       /* moment of the last question in ns; 0: there has been no look */
};

qn_watch qn_watch_of(const qn_plan *plan, qn_ask *ask);

/* Asks if it is time to; not 0: the answer was to stop. */
int qn_watch_asks(qn_watch *watch);

static inline int qn_watch_stops(qn_watch *watch) {
    return --watch->left < 0 && watch->look(watch);
}

/* Fields of the largest struct that is split. */
enum { QN_MOST_FIELDS = 32 };

/* The arena as sample n finds it, and the input of one turn: one time step of one sample. */
void qn_load_sample(const qn_plan *plan, char *arena, int64_t n, const void *state);
void qn_load_input(const qn_plan *plan, char *arena, int64_t turn, const void *x);

/* Where a run goes on after the jump at step i. store: the next that is due, which moves along. */
int64_t qn_jump(const qn_plan *plan, int64_t i, const char *arena, int64_t *store);
int qn_jump_check(const qn_plan *plan, const qn_step *jump, char *why);

int qn_run_step(const qn_step *step, char *arena);

/* Steps first..last-1 in turn, after each its stores, and at first those of the step before. */
int qn_run_steps(const qn_plan *plan, char *arena, int64_t turn, void *const *outputs,
                 int64_t first, int64_t last, qn_watch *watch);

/* Samples first..last-1. */
int qn_run_samples(const qn_plan *plan, void *arena, int64_t first, int64_t last, int64_t times,
                   const void *x, const void *state, void *const *outputs, qn_watch *watch);

#endif
