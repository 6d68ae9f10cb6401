/* What a team of threads does for who runs plans (parallel_for.c). */
#ifndef QN_TEAM_H
#define QN_TEAM_H

#include "executor.h"

enum { QN_BUSY = -101 };

/* What every thread does once for a job; who: 0 for the caller's, others from 1 on. */
typedef void qn_work(void *job, int32_t who);

/* QN_OK: the team is the caller's until it leaves. QN_BUSY: it is another one's. QN_FORKED: it is of
 * another process. */
int qn_team_enter(qn_team *team);
void qn_team_leave(qn_team *team);

/* Threads at most, the caller's among them. */
int32_t qn_team_threads(const qn_team *team);

/* work() in this thread, and in all others that are awake in time; returns when all have ended. The
 * caller looks at its watch while it waits for them. */
void qn_team_do(qn_team *team, qn_work *work, void *job, qn_watch *watch);

#endif
