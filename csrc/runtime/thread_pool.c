/* A team of threads that do the same job, without a lock but to wake who sleeps.
 *
 * A job is open while `call` is odd. A worker that sees a new call goes in (`inside`), looks again
 * whether that call is still open, and works; the caller closes it and waits until all have left. So
 * a worker that comes late is not waited for, and never sees a job half made. Between jobs workers
 * spin for SPIN_NS, as the next one is often near, and then sleep. */
#define _POSIX_C_SOURCE 200809L

#include "thread_pool.h"

#if defined(_WIN32)

qn_team *qn_team_new(int32_t threads) {
    (void)threads;
    return NULL;
}
void qn_team_free(qn_team *team) { (void)team; }

int qn_team_enter(qn_team *team) {
    (void)team;
    return QN_BUSY;
}
void qn_team_leave(qn_team *team) { (void)team; }
int32_t qn_team_threads(const qn_team *team) { return team != NULL; }
void qn_team_do(qn_team *team, qn_work *work, void *job, qn_watch *watch) {
    (void)team;
    (void)watch;
    work(job, 0);
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* LOOKS before a worker asks for the time, PATIENCE: before the caller lends its core to others. */
enum { SPIN_NS = 50000, LOOKS = 64, PATIENCE = 2000 };

struct qn_team {
    qn_work *work;
    void *job;
    int32_t threads, started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_flag busy;
    atomic_long process; /* that the workers live in; 0: they have not been started */
    atomic_uint call;
    atomic_int inside, asleep, ending, names;
    pthread_t workers[];
};

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- workers ---- */

/* Is there a call other than `seen` to work for, or the end? */
static int is_called(qn_team *team, unsigned seen) {
    const unsigned call = atomic_load(&team->call);
    return (call % 2 == 1 && call != seen) || atomic_load(&team->ending);
}

static void wait_for_call(qn_team *team, unsigned seen) {
    const int64_t until = nanoseconds() + SPIN_NS;
    do {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (is_called(team, seen)) {
                return;
            }
        }
    } while (nanoseconds() < until);
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while (!is_called(team, seen)) {
        pthread_cond_wait(&team->wake, &team->lock);
    }
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
}

static void *worker(void *of) {
    qn_team *team = of;
    const int32_t who = atomic_fetch_add(&team->names, 1);
    unsigned seen = 0;
    for (;;) {
        wait_for_call(team, seen);
        if (atomic_load(&team->ending)) {
            return NULL;
        }
        seen = atomic_load(&team->call);
        atomic_fetch_add(&team->inside, 1);
        if (seen % 2 == 1 && atomic_load(&team->call) == seen) {
            team->work(team->job, who);
        }
        atomic_fetch_sub(&team->inside, 1);
    }
}

/* Fewer threads than wanted are no fault: jobs do not ask who does them. Signals are for the threads
 * of the application. */
static void start(qn_team *team) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team->started < team->threads - 1 &&
           pthread_create(&team->workers[team->started], NULL, worker, team) == 0) {
        team->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&team->process, (long)getpid());
}

static void wake_all(qn_team *team) {
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

/* ---- the team ---- */

qn_team *qn_team_new(int32_t threads) {
    qn_team *team = calloc(1, sizeof(qn_team) + (size_t)threads * sizeof(pthread_t));
    if (!team) {
        return NULL;
    }
    team->threads = threads;
    atomic_init(&team->names, 1);
    atomic_flag_clear(&team->busy);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    return team;
}

void qn_team_free(qn_team *team) {
    if (atomic_load(&team->process) == (long)getpid()) {
        atomic_store(&team->ending, 1);
        wake_all(team);
        for (int32_t i = 0; i < team->started; i++) {
            pthread_join(team->workers[i], NULL);
        }
        pthread_cond_destroy(&team->wake);
        pthread_mutex_destroy(&team->lock);
    }
    free(team);
}

int32_t qn_team_threads(const qn_team *team) { return team->threads; }

int qn_team_enter(qn_team *team) {
    const long process = atomic_load(&team->process);
    if (process != 0 && process != (long)getpid()) {
        return QN_FORKED;
    }
    if (atomic_flag_test_and_set_explicit(&team->busy, memory_order_acquire)) {
        return QN_BUSY;
    }
    if (atomic_load(&team->process) == 0) {
        start(team);
    }
    return QN_OK;
}

void qn_team_leave(qn_team *team) { atomic_flag_clear_explicit(&team->busy, memory_order_release); }

void qn_team_do(qn_team *team, qn_work *work, void *job, qn_watch *watch) {
    team->work = work;
    team->job = job;
    atomic_fetch_add(&team->call, 1);
    if (atomic_load(&team->asleep) > 0) {
        wake_all(team);
    }
    work(job, 0);
    atomic_fetch_add(&team->call, 1);
    for (int looks = 1; atomic_load(&team->inside) > 0; looks++) {
        if (looks % PATIENCE == 0) {
            watch->look(watch);
            sched_yield();
        }
    }
}

#endif
