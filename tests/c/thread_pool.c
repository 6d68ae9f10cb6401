/* A pool under a sanitizer: batches, tasks that depend on each other, several callers at a time, a
 * step that fails, calls that are stopped, ends and beginnings, a fork. Prints failures; exit
 * status 0: none. */
#include "../../csrc/runtime/threads.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "qn.h"

enum { SAMPLES = 67, WIDTH = 8, PARTS = 4, ROUNDS = 300, THREADS = 3, CALLERS = 3 };

static int faults;

/* Steps that take long enough for others to join, and steps that others have run. */
static atomic_int slow, helped;
static long sleeps_ns = 200000;
static _Thread_local int is_first; /* of all threads */

static void pause_for(long nanoseconds) {
#if defined(_WIN32)
    Sleep((DWORD)((nanoseconds + 999999) / 1000000));
#else
    const struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
#endif
}

static void expect(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s\n", what);
        faults++;
    }
}

/* out[i] = in[i] * 3 + 1, for WIDTH values or a part of them; a -2 at the start of either fails. */
static int run(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int32_t *in = b->in[0];
    int32_t *out = b->out;
    if (atomic_load(&slow)) {
        pause_for(sleeps_ns);
        atomic_fetch_add(&helped, !is_first);
    }
    if (in[0] == -2) {
        return QN_SIZE_MISMATCH;
    }
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = in[i] * 3 + 1;
    }
    return QN_OK;
}

static int64_t none(const void *params) {
    (void)params;
    return 0;
}

static const qn_op op = {.arithmetic = "t", .op = "triple", .type = "s32", .params = "none"};
static const qn_functions functions = {.run = run, .scratch = none, .packed = none};
static const qn_kernel kernel = {
    .op = &op, .kind = "fast", .variant = "test", .symbol = "run", .functions = &functions};
static const qn_vector whole = {0, WIDTH}, part = {0, WIDTH / PARTS};

/* Three steps, ping-pong between two buffers; the middle one is split and its result stored. */
enum { BYTES = WIDTH * 4, STEPS = 3, TASKS = 1 + PARTS + 1 };
static qn_step steps[STEPS], parts[PARTS];
static qn_task tasks[TASKS];
static const qn_load input = {0, 0, BYTES};
static const qn_store stores[2] = {{1, 0, BYTES}, {2, BYTES, BYTES}};
static qn_plan plan = {.steps = steps,
                       .inputs = &input,
                       .stores = stores,
                       .tasks = tasks,
                       .step_count = STEPS,
                       .input_count = 1,
                       .store_count = 2,
                       .task_count = TASKS,
                       .arena_bytes = 2 * BYTES,
                       .input_bytes = BYTES};

static void make_plan(void) {
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (qn_step){.kernel = &kernel, .params = &whole, .out = i % 2 ? 0 : BYTES};
        steps[i].in[0] = i % 2 ? BYTES : 0;
    }
    tasks[0] = (qn_task){.first = 0, .last = 1};
    for (int i = 0; i < PARTS; i++) {
        parts[i] = steps[1];
        parts[i].params = &part;
        parts[i].in[0] += i * BYTES / PARTS;
        parts[i].out += i * BYTES / PARTS;
        tasks[1 + i] = (qn_task){.part = &parts[i], .first = 1, .last = 2, .after = 1};
    }
    tasks[1 + PARTS] = (qn_task){.first = 2, .last = STEPS, .after = 1 + PARTS};
}

/* One call with memory of its own, its results checked. */
static void call(qn_thread_pool *pool, int64_t samples, int32_t seed) {
    int32_t arenas[THREADS][2 * WIDTH], x[SAMPLES * WIDTH];
    int32_t middle[SAMPLES * WIDTH], last[SAMPLES * WIDTH];
    void *each[THREADS] = {arenas[0], arenas[1], arenas[2]}, *outputs[2] = {middle, last};
    for (int32_t i = 0; i < SAMPLES * WIDTH; i++) {
        x[i] = i + seed;
    }
    int begun[TASKS];
    const qn_call given = {&plan, pool, each, outputs, begun, 1, NULL, NULL};
    const int status = qn_run(&given, samples, 1, x, NULL);
    int good = status == QN_OK;
    for (int32_t i = 0; i < samples * WIDTH; i++) {
        good &= middle[i] == x[i] * 9 + 4 && last[i] == x[i] * 27 + 13;
    }
    expect(good, "a call has computed something else");
    for (int32_t where = 0; where < 2; where++) { /* the first step, or the middle one */
        x[(samples - 1) * WIDTH] = where ? -1 : -2;
        const int failed = qn_run(&given, samples, 1, x, NULL);
        expect(failed == QN_SIZE_MISMATCH, "a failed step was not told");
    }
}

QN_THREAD_MAIN caller(void *pool) {
    for (int32_t i = 0; i < ROUNDS; i++) {
        call(pool, 1 + i % SAMPLES, i);
    }
    return 0;
}

static void several_callers(qn_thread_pool *pool) {
    qn_thread threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        if (qn_thread_start(&threads[i], caller, pool)) {
            exit(2);
        }
    }
    for (int i = 0; i < CALLERS; i++) {
        qn_thread_join(threads[i]);
    }
}

/* Workers sleep after a while, and wake. Parts of a sample wait for the steps before them. */
static void after_a_pause(qn_thread_pool *pool) {
    int alone = 0;
    atomic_store(&slow, 1);
    for (int32_t i = 0; i < 24; i++) {
        pause_for(2000000);
        atomic_store(&helped, 0);
        call(pool, i % 8 ? 1 : SAMPLES, i);
        alone += i % 8 ? 0 : atomic_load(&helped) == 0;
    }
    expect(!alone, "no worker has woken");
    atomic_store(&slow, 0);
}

static atomic_int asked;

static int32_t say_stop(void) {
    expect(is_first, "another thread than the caller's asks");
    atomic_fetch_add(&asked, 1);
    return 1;
}

static int32_t say_go_on(void) {
    atomic_fetch_add(&asked, 1);
    return 0;
}

/* A call whose steps take an hour ends after the first question, in the middle of a sample too, and
 * nobody works in its memory afterwards; one that may go on computes the same. */
static void stopped(qn_thread_pool *pool, int64_t samples, int64_t times) {
    static int32_t arenas[THREADS][2 * WIDTH], x[WIDTH], y[WIDTH];
    const int64_t forever = 18000000;
    void *each[THREADS] = {arenas[0], arenas[1], arenas[2]}, *outputs[2] = {y, y};
    qn_plan same_place = plan; /* every sample reads and writes the same few bytes */
    qn_store none[2] = {{1, 0, 0}, {2, 0, 0}};
    int begun[TASKS];
    same_place.stores = none;
    same_place.input_bytes = 0;
    same_place.task_count = 0;
    const qn_call given = {&same_place, pool, each, outputs, begun, 1, say_stop, NULL};
    atomic_store(&slow, 1);
    atomic_store(&asked, 0);
    const int status =
        qn_run(&given, samples ? samples : forever, times ? times : forever, x, NULL);
    expect(status == QN_STOPPED, "a call was not stopped");
    expect(atomic_load(&asked) == 1, "who was told to stop asks again");
    memset(arenas, 0, sizeof arenas);
    atomic_store(&slow, 0);
}

/* One sample after the other by tasks, as each is less than the threads could share. */
static void stopped_among_tasks(qn_thread_pool *pool) {
    int32_t arenas[THREADS][2 * WIDTH], x[WIDTH] = {0}, y[2][WIDTH];
    void *each[THREADS] = {arenas[0], arenas[1], arenas[2]}, *outputs[2] = {y[0], y[1]};
    int begun[TASKS];
    const qn_call go_on = {&plan, pool, each, outputs, begun, 1, say_go_on, NULL};
    const qn_call stop = {&plan, pool, each, outputs, begun, 1, say_stop, NULL};
    sleeps_ns = 40000000; /* three steps in turn: longer than from one question to the next */
    atomic_store(&slow, 1);
    atomic_store(&asked, 0);
    expect(qn_run(&go_on, 1, 1, x, NULL) == QN_OK && atomic_load(&asked) > 0, "nobody asked");
    expect(qn_run(&stop, 1, 1, x, NULL) == QN_STOPPED, "a sample in parts was not stopped");
    atomic_store(&slow, 0);
    sleeps_ns = 200000;
}

#if !defined(_WIN32)
static void in_a_child(qn_thread_pool *pool) {
    const pid_t child = fork();
    if (child == 0) {
        int32_t arena[2 * WIDTH], x[WIDTH] = {0}, y[2][WIDTH];
        void *each[THREADS] = {arena, arena, arena}, *outputs[2] = {y[0], y[1]};
        int begun[TASKS];
        const qn_call given = {&plan, pool, each, outputs, begun, 1, NULL, NULL};
        const int told = qn_run(&given, 1, 1, x, NULL);
        qn_thread_pool_free(pool);
        qn_thread_pool *own = qn_thread_pool_new(1);
        call(own, 5, 1);
        qn_thread_pool_free(own);
        _exit(told == QN_FORKED && faults == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "a child of fork() cannot go on");
}
#endif

int main(void) {
    is_first = 1;
    make_plan();
    for (int i = 0; i < 10; i++) {
        qn_thread_pool *pool = qn_thread_pool_new(THREADS);
        if (i > 0) {
            call(pool, i, i);
        }
        qn_thread_pool_free(pool);
    }
    qn_thread_pool *pool = qn_thread_pool_new(THREADS);
    several_callers(pool);
    after_a_pause(pool);
    stopped(NULL, 0, 1);
    stopped(NULL, 1, 0);
    stopped(pool, 0, 1);
    stopped_among_tasks(pool);
    call(pool, SAMPLES, 3);
#if !defined(_WIN32)
    in_a_child(pool);
    call(pool, SAMPLES, 5);
#endif
    qn_thread_pool_free(pool);
    return faults > 0;
}
