/* A pool of threads, for the code that runs plans on several (parallel_for.c). */
#ifndef QN_THREAD_POOL_H
#define QN_THREAD_POOL_H

#include "executor.h"

enum { QN_BUSY = -101 };

/* What every thread does once for a job; who: 0 for the caller's, others from 1 on. */
typedef void qn_work(void *job, int32_t who);

/* QN_OK: the pool is the caller's until it leaves. QN_BUSY: it is another one's. QN_FORKED: it is of
 * another process. */
int qn_thread_pool_enter(qn_thread_pool *pool);
void qn_thread_pool_leave(qn_thread_pool *pool);

/* Threads at most, the caller's among them. */
int32_t qn_thread_pool_threads(const qn_thread_pool *pool);

/* work() in this thread, and in all others that are awake in time; returns when all have ended. The
 * caller looks at its watch while it waits for them. */
void qn_thread_pool_do(qn_thread_pool *pool, qn_work *work, void *job, qn_watch *watch);

#endif
