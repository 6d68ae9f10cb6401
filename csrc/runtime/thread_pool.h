/* A pool of threads, for parallel runs of plans (parallel_for.c). */
#ifndef QN_THREAD_POOL_H
#define QN_THREAD_POOL_H

#include "executor.h"

enum { QN_BUSY = -101 };

/* The function that every thread calls once for a job. who: 0 for the caller's thread, otherwise
 * from 1 on. */
typedef void qn_work(void *job, int32_t who);

/* Reserve the pool. QN_OK: for this caller, until it calls qn_thread_pool_leave(). QN_BUSY: another
 * caller has it. QN_FORKED: it belongs to another process. */
int qn_thread_pool_enter(qn_thread_pool *pool);
void qn_thread_pool_leave(qn_thread_pool *pool);

/* Return the maximum number of threads, including the caller's. */
int32_t qn_thread_pool_threads(const qn_thread_pool *pool);

/* Call work() in this thread and in all workers that wake in time. Return when all have ended.
 * While the caller waits for them, it checks its watch. */
void qn_thread_pool_do(qn_thread_pool *pool, qn_work *work, void *job, qn_watch *watch);

#endif
