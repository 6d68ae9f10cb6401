/* Parallel runs of a plan. With many samples, threads take a few at a time from one counter. For
 * the tasks of one sample, each thread first takes its own parts: it has computed most of their
 * inputs itself. Then it takes parts that no thread has begun, so faster threads do more. */
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../common/tiles.h"
#include "executor.h"
#include "modes.h"
#include "thread_pool.h"

/* PATIENCE: looks at a counter before a thread yields its core. CHUNKS: of samples, per thread. */
enum { PATIENCE = 2000, CHUNKS = 32 };

static int run_alone(const qn_call *call, int64_t samples, int64_t times, const void *x,
                     const void *state) {
    return qn_execute(call->plan, call->arenas[0], 0, samples, times, x, state, call->outputs,
                      call->ask, call->failed);
}

/* Samples, or the tasks of sample `turn`, that all threads compute. watch: the caller's. The
 * counter that all threads write has its own cache line. */
typedef struct job {
    const qn_call *call;
    qn_work *work;
    const void *x, *state;
    int64_t times, turn, samples, chunk; /* chunk: samples at a time */
    int32_t threads;
    qn_watch watch;
    atomic_int status;
    atomic_int *begun; /* by task */
    char apart_1[64];
    atomic_size_t count; /* samples begun, or tasks done */
    char apart_2[64];
} job;

static int has_failed(job *j) {
    return atomic_load_explicit(&j->status, memory_order_relaxed) != QN_OK;
}

/* Record an error. The first one is the job's result: later ones are consequences of it. */
static void record_status(job *j, int status) {
    int none = QN_OK;
    if (status != QN_OK) {
        atomic_compare_exchange_strong(&j->status, &none, status);
    }
}

static int look(qn_watch *watch) {
    job *j = watch->job;
    watch->left = watch->every;
    if (watch->ask && !has_failed(j) && qn_watch_asks(watch)) {
        record_status(j, QN_STOPPED);
    }
    return has_failed(j);
}

static qn_watch watch_of(job *j, qn_ask *ask) {
    qn_watch watch = qn_watch_of(j->call->plan, ask);
    watch.look = look;
    watch.job = j;
    return watch;
}

static void work_on_samples(void *of, int32_t who) {
    job *j = of;
    const qn_call *call = j->call;
    const size_t chunk = (size_t)j->chunk;
    qn_watch own = watch_of(j, NULL), *watch = who == 0 ? &j->watch : &own;
    while (!has_failed(j)) {
        const int64_t first =
            (int64_t)atomic_fetch_add_explicit(&j->count, chunk, memory_order_relaxed);
        if (first >= j->samples) {
            return;
        }
        const int64_t left = j->samples - first, last = first + (left < j->chunk ? left : j->chunk);
        record_status(j, qn_run_samples(call->plan, call->arenas[who], first, last, j->times, j->x,
                                        j->state, call->outputs, watch));
    }
}

/* Wait until the first `after` tasks are done. Return 0 if one of them failed. */
static int wait_for_tasks(job *j, int64_t after, qn_watch *watch) {
    for (int looks = 1; atomic_load_explicit(&j->count, memory_order_acquire) < (size_t)after;
         looks++) {
        if (has_failed(j)) {
            return 0;
        }
        if (looks % PATIENCE == 0) {
            watch->look(watch);
            qn_yield();
        }
    }
    return !has_failed(j);
}

/* Begin a task unless another thread has begun it. */
static void try_task(job *j, int64_t index, qn_watch *watch) {
    const qn_call *call = j->call;
    const qn_task *task = &call->plan->tasks[index];
    atomic_int *begun = &j->begun[index];
    if (atomic_load_explicit(begun, memory_order_relaxed) ||
        atomic_exchange_explicit(begun, 1, memory_order_relaxed) ||
        !wait_for_tasks(j, task->after, watch) || qn_watch_stops(watch)) {
        return;
    }
    const int status = task->part ? qn_run_step(task->part, call->arenas[0])
                                  : qn_run_steps(call->plan, call->arenas[0], j->turn,
                                                 call->outputs, task->first, task->last, watch);
    record_status(j, status);
    if (status == QN_OK) {
        atomic_fetch_add_explicit(&j->count, 1, memory_order_release);
    }
}

/* Run all tasks. Tasks that wait for the same tasks are neighbours: the parts of one step. */
static void work_on_tasks(void *of, int32_t who) {
    job *j = of;
    const qn_plan *plan = j->call->plan;
    qn_watch own = watch_of(j, NULL), *watch = who == 0 ? &j->watch : &own;
    int64_t last = 0;
    for (int64_t first = 0; first < plan->task_count && !has_failed(j); first = last) {
        while (last < plan->task_count && plan->tasks[last].after == plan->tasks[first].after) {
            last++;
        }
        const int64_t parts = last - first, start = parts * who / j->threads;
        for (int64_t i = 0; i < parts; i++) {
            try_task(j, first + (start + i) % parts, watch);
        }
    }
}

static void work(void *of, int32_t who) {
    const job *j = of;
    j->work(of, who);
    qn_release_tiles(j->call->plan->tiles);
}

static int do_job(job *j, qn_work *parts) {
    j->work = parts;
    atomic_init(&j->count, 0);
    atomic_init(&j->status, QN_OK);
    qn_thread_pool_do(j->call->pool, work, j, &j->watch);
    return atomic_load(&j->status);
}

/* Divide most samples evenly among the threads. If there are tasks, run the remaining samples one
 * by one, each on all threads. */
static int run_shared(job *j, int64_t samples) {
    const qn_plan *plan = j->call->plan;
    char *arena = j->call->arenas[0];
    int status = QN_OK;
    j->threads = qn_thread_pool_threads(j->call->pool);
    j->samples = plan->task_count > 0 ? samples - samples % j->threads : samples;
    j->chunk = j->samples / (j->threads * CHUNKS) + 1;
    if (j->samples > 0) {
        status = do_job(j, work_on_samples);
    }
    j->begun = j->call->begun;
    for (j->turn = j->samples; j->turn < samples && status == QN_OK; j->turn++) {
        qn_load_sample(plan, arena, j->turn, NULL);
        qn_load_input(plan, arena, j->turn, j->x);
        for (int64_t i = 0; i < plan->task_count; i++) {
            atomic_init(&j->begun[i], 0);
        }
        status = do_job(j, work_on_tasks);
    }
    return status;
}

static int run(const qn_call *call, int64_t samples, int64_t times, const void *x,
               const void *state) {
    if (!call->pool || samples * times < call->shared) {
        return run_alone(call, samples, times, x, state);
    }
    const int entered = qn_thread_pool_enter(call->pool);
    if (entered == QN_BUSY) {
        return run_alone(call, samples, times, x, state);
    }
    if (entered != QN_OK) {
        return entered;
    }
    job *j = calloc(1, sizeof *j); /* on the heap: Python may end this thread when the watch asks */
    if (!j) {
        qn_thread_pool_leave(call->pool);
        return run_alone(call, samples, times, x, state);
    }
    j->call = call;
    j->x = x;
    j->state = state;
    j->times = times;
    j->watch = watch_of(j, call->ask);
    const int status = run_shared(j, samples);
    qn_thread_pool_leave(call->pool);
    free(j);
    return status == QN_OK || status == QN_STOPPED ? status
                                                   : run_alone(call, samples, times, x, state);
}

int qn_run(const qn_call *call, int64_t samples, int64_t times, const void *x, const void *state) {
    const uint64_t modes = qn_enter_modes();
    const int status = run(call, samples, times, x, state);
    qn_leave_modes(modes);
    return status;
}
