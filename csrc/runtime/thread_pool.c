/* A pool of threads that run the same job. Its only lock is for waking sleeping workers.
 *
 * A job is open while `call` is odd. A worker that sees a new call increments `inside`, checks that
 * the call is still open, and works. The caller closes the call and waits until `inside` is 0. So
 * nothing waits for a late worker, and no worker sees an incomplete job. Between jobs workers spin
 * for SPIN_NS, because the next job often follows soon, and then sleep. */
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "modes.h"
#include "thread_pool.h"

/* LOOKS: before a worker reads the clock. PATIENCE: looks before the caller yields its core. */
enum { SPIN_NS = 50000, LOOKS = 64, PATIENCE = 2000 };

struct qn_thread_pool {
    qn_work *work;
    void *job;
    int32_t threads, started;
    qn_mutex lock;
    qn_condition wake;
    atomic_flag busy;
    atomic_long process; /* process of the workers; 0: not started */
    atomic_uint call;
    atomic_int inside, asleep, ending, names;
    qn_thread workers[];
};

/* ---- workers ---- */

/* True if there is a call other than `seen`, or the pool ends. */
static int is_called(qn_thread_pool *pool, unsigned seen) {
    const unsigned call = atomic_load(&pool->call);
    return (call % 2 == 1 && call != seen) || atomic_load(&pool->ending);
}

static void wait_for_call(qn_thread_pool *pool, unsigned seen) {
    const int64_t until = qn_nanoseconds() + SPIN_NS;
    do {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (is_called(pool, seen)) {
                return;
            }
        }
    } while (qn_nanoseconds() < until);
    qn_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    while (!is_called(pool, seen)) {
        qn_wait(&pool->wake, &pool->lock);
    }
    atomic_fetch_sub(&pool->asleep, 1);
    qn_unlock(&pool->lock);
}

QN_THREAD_MAIN worker(void *of) {
    qn_thread_pool *pool = of;
    const int32_t who = atomic_fetch_add(&pool->names, 1);
    unsigned seen = 0;
    (void)qn_enter_modes();
    for (;;) {
        wait_for_call(pool, seen);
        if (atomic_load(&pool->ending)) {
            return 0;
        }
        seen = atomic_load(&pool->call);
        atomic_fetch_add(&pool->inside, 1);
        if (seen % 2 == 1 && atomic_load(&pool->call) == seen) {
            pool->work(pool->job, who);
        }
        atomic_fetch_sub(&pool->inside, 1);
    }
}

/* Start the workers. Fewer threads than requested are no error: any number of threads does a
 * job. */
static void start(qn_thread_pool *pool) {
    while (pool->started < pool->threads - 1 &&
           qn_thread_start(&pool->workers[pool->started], worker, pool) == 0) {
        pool->started++;
    }
    atomic_store(&pool->process, qn_process());
}

static void wake_all(qn_thread_pool *pool) {
    qn_lock(&pool->lock);
    qn_wake_all(&pool->wake);
    qn_unlock(&pool->lock);
}

/* ---- the pool ---- */

qn_thread_pool *qn_thread_pool_new(int32_t threads) {
    qn_thread_pool *pool = calloc(1, sizeof(qn_thread_pool) + (size_t)threads * sizeof(qn_thread));
    if (!pool) {
        return NULL;
    }
    pool->threads = threads;
    atomic_init(&pool->names, 1);
    atomic_flag_clear(&pool->busy);
    pool->lock = (qn_mutex)QN_MUTEX_INIT;
    pool->wake = (qn_condition)QN_CONDITION_INIT;
    return pool;
}

void qn_thread_pool_free(qn_thread_pool *pool) {
    if (atomic_load(&pool->process) == qn_process()) {
        atomic_store(&pool->ending, 1);
        wake_all(pool);
        for (int32_t i = 0; i < pool->started; i++) {
            qn_thread_join(pool->workers[i]);
        }
    }
    free(pool);
}

int32_t qn_thread_pool_threads(const qn_thread_pool *pool) { return pool->threads; }

int qn_thread_pool_enter(qn_thread_pool *pool) {
    const long process = atomic_load(&pool->process);
    if (process != 0 && process != qn_process()) {
        return QN_FORKED;
    }
    if (atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        return QN_BUSY;
    }
    if (atomic_load(&pool->process) == 0) {
        start(pool);
    }
    return QN_OK;
}

void qn_thread_pool_leave(qn_thread_pool *pool) {
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

void qn_thread_pool_do(qn_thread_pool *pool, qn_work *work, void *job, qn_watch *watch) {
    pool->work = work;
    pool->job = job;
    atomic_fetch_add(&pool->call, 1);
    if (atomic_load(&pool->asleep) > 0) {
        wake_all(pool);
    }
    work(job, 0);
    atomic_fetch_add(&pool->call, 1);
    for (int looks = 1; atomic_load(&pool->inside) > 0; looks++) {
        if (looks % PATIENCE == 0) {
            watch->look(watch);
            qn_yield();
        }
    }
}
