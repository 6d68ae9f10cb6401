/* Runs a plan on several threads: all take tickets from one counter until there are none, so that
 * whoever is quicker does more. A ticket is a few samples, or a task of one sample. */
#define _POSIX_C_SOURCE 200809L

#include "exec.h"
#include "team.h"

static int run_alone(const qn_call *call, int64_t samples, int64_t times, const void *x,
                     const void *state) {
    return qn_execute(call->plan, call->arenas[0], 0, samples, times, x, state, call->outputs);
}

#if defined(_WIN32)

int qn_run(const qn_call *call, int64_t samples, int64_t times, const void *x, const void *state) {
    return run_alone(call, samples, times, x, state);
}

#else

#include <sched.h>
#include <stdatomic.h>

/* PATIENCE: looks at a counter before the core is lent to others; CHUNKS of samples for a thread. */
enum { PATIENCE = 2000, CHUNKS = 32 };

/* What is computed: samples, or the tasks of sample `turn`. The counters that all threads write to
 * have cache lines of their own. */
typedef struct job {
    const qn_call *call;
    const void *x, *state;
    int64_t times, turn;
    size_t tickets, chunk; /* samples or tasks; how many a ticket is good for */
    char apart_1[64];
    atomic_size_t next;
    char apart_2[64];
    atomic_size_t done; /* tasks */
    atomic_int status;
    char apart_3[64];
} job;

static int has_failed(job *j) {
    return atomic_load_explicit(&j->status, memory_order_relaxed) != QN_OK;
}

/* The next ticket; are there any, and has nothing failed? */
static int take(job *j, size_t *ticket) {
    if (has_failed(j)) {
        return 0;
    }
    *ticket = atomic_fetch_add_explicit(&j->next, j->chunk, memory_order_relaxed);
    return *ticket < j->tickets;
}

static void work_on_samples(void *of, int32_t who) {
    job *j = of;
    const qn_call *call = j->call;
    size_t first;
    while (take(j, &first)) {
        const size_t left = j->tickets - first, count = left < j->chunk ? left : j->chunk;
        const int status =
            qn_execute(call->plan, call->arenas[who], (int64_t)first, (int64_t)(first + count),
                       j->times, j->x, j->state, call->outputs);
        if (status != QN_OK) {
            atomic_store(&j->status, status);
        }
    }
}

/* Waits until the first `after` tasks are done; 0: one of them failed. */
static int is_ready(job *j, size_t after) {
    for (int looks = 1; atomic_load_explicit(&j->done, memory_order_acquire) < after; looks++) {
        if (has_failed(j)) {
            return 0;
        }
        if (looks % PATIENCE == 0) {
            sched_yield();
        }
    }
    return 1;
}

static void work_on_tasks(void *of, int32_t who) {
    job *j = of;
    const qn_call *call = j->call;
    size_t ticket;
    (void)who;
    while (take(j, &ticket)) {
        const qn_task *task = &call->plan->tasks[ticket];
        if (!is_ready(j, (size_t)task->after)) {
            return;
        }
        const int status = task->part ? qn_run_step(task->part, call->arenas[0])
                                      : qn_run_steps(call->plan, call->arenas[0], j->turn,
                                                     call->outputs, task->first, task->last);
        if (status != QN_OK) {
            atomic_store(&j->status, status);
        } else {
            atomic_fetch_add_explicit(&j->done, 1, memory_order_release);
        }
    }
}

static int do_job(qn_team *team, qn_work *work, job *j) {
    atomic_init(&j->next, 0);
    atomic_init(&j->done, 0);
    atomic_init(&j->status, QN_OK);
    qn_team_do(team, work, j);
    return atomic_load(&j->status);
}

/* As many samples as all threads can have alike; the others, where there are tasks, one by one. */
static int run_shared(job *j, int64_t samples) {
    const qn_plan *plan = j->call->plan;
    qn_team *team = j->call->team;
    const int64_t left = plan->task_count > 0 ? samples % qn_team_threads(team) : 0;
    int status = QN_OK;
    if (samples > left) {
        j->tickets = (size_t)(samples - left);
        j->chunk = j->tickets / ((size_t)qn_team_threads(team) * CHUNKS) + 1;
        status = do_job(team, work_on_samples, j);
    }
    for (j->turn = samples - left; j->turn < samples && status == QN_OK; j->turn++) {
        j->tickets = (size_t)plan->task_count;
        j->chunk = 1;
        qn_load_sample(plan, j->call->arenas[0], j->turn, NULL);
        qn_load_input(plan, j->call->arenas[0], j->turn, j->x);
        status = do_job(team, work_on_tasks, j);
    }
    return status;
}

int qn_run(const qn_call *call, int64_t samples, int64_t times, const void *x, const void *state) {
    if (!call->team || samples * times < call->shared) {
        return run_alone(call, samples, times, x, state);
    }
    const int entered = qn_team_enter(call->team);
    if (entered == QN_BUSY) {
        return run_alone(call, samples, times, x, state);
    }
    if (entered != QN_OK) {
        return entered;
    }
    job j = {.call = call, .x = x, .state = state, .times = times};
    const int status = run_shared(&j, samples);
    qn_team_leave(call->team);
    return status;
}

#endif
