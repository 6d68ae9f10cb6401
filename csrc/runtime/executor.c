/* The loop over the steps of a plan. It allocates nothing and uses no global state. */
#include "threads.h"

#include <stdio.h>
#include <string.h>

#include "../common/tiles.h"
#include "executor.h"
#include "modes.h"

static int within(int64_t offset, int64_t bytes, int64_t whole) {
    return offset >= 0 && bytes >= 0 && bytes <= whole && offset <= whole - bytes;
}

static int step_check(const qn_plan *plan, const qn_step *step, char *why) {
    qn_sizes sizes = {0};
    if (!step->kernel) {
        return qn_jump_check(plan, step, why);
    }
    int status = step->kernel->op->check(step->params, &sizes, why);
    if (status != QN_OK) {
        return status;
    }
    const char *part = NULL;
    for (int i = 0; i < QN_INPUTS; i++) {
        if (sizes.in[i] > 0 && !within(step->in[i], sizes.in[i], plan->arena_bytes)) {
            part = "an input";
        }
    }
    int64_t scratch = step->kernel->functions->scratch(step->params);
    if (scratch < 0 || (scratch > 0 && !within(step->scratch, scratch, plan->arena_bytes))) {
        part = "the scratch buffer";
    }
    if (step->spare_bytes != 0 && (step->spare_bytes < sizes.in[0] ||
                                   !within(step->spare, step->spare_bytes, plan->arena_bytes))) {
        part = "the copy of the input";
    }
    if (!within(step->out, sizes.out, plan->arena_bytes)) {
        part = "the output";
    }
    if (part) {
        snprintf(why, QN_WHY, "%s is outside the planned memory", part);
        return QN_REFUSED;
    }
    if (step->packed_bytes < step->kernel->functions->packed(step->params)) {
        snprintf(why, QN_WHY, "the weights are not packed for %s", step->kernel->variant);
        return QN_REFUSED;
    }
    if (step->weights_bytes < sizes.weights || step->bias_bytes < sizes.bias) {
        int weights = step->weights_bytes < sizes.weights;
        snprintf(why, QN_WHY, "the %s has %lld bytes, the call reads %lld",
                 weights ? "weight array" : "bias array",
                 (long long)(weights ? step->weights_bytes : step->bias_bytes),
                 (long long)(weights ? sizes.weights : sizes.bias));
        return QN_REFUSED;
    }
    return QN_OK;
}

/* True if a part equals the one that qn_split() makes of its step, with scratch inside the
 * arena. */
static int task_check(const qn_plan *plan, int64_t index) {
    const qn_task *task = &plan->tasks[index];
    int good = task->first >= 0 && task->first <= task->last && task->last <= plan->step_count &&
               task->after <= index;
    if (!good || !task->part) {
        return good;
    }
    const qn_step *part = task->part, *whole = &plan->steps[task->first];
    int32_t params[QN_MOST_FIELDS];
    qn_step again;
    int64_t scratch;
    if (task->last != task->first + 1 ||
        qn_split(whole, task->unit, task->last_unit, params, &again, &scratch) != QN_OK ||
        memcmp(params, part->params, (size_t)whole->kernel->op->params_bytes) != 0) {
        return 0;
    }
    return part->kernel == whole->kernel && part->weights == whole->weights &&
           part->bias == whole->bias && part->packed == whole->packed &&
           memcmp(part->in, again.in, sizeof again.in) == 0 && part->out == again.out &&
           part->spare_bytes == 0 && scratch >= 0 &&
           within(part->scratch, scratch, plan->arena_bytes);
}

int qn_plan_check(const qn_plan *plan, int64_t *step, char *why) {
    for (*step = 0; *step < plan->step_count; ++*step) {
        int status = step_check(plan, &plan->steps[*step], why);
        if (status != QN_OK) {
            return status;
        }
    }
    *step = -1;
    int good = plan->cleared <= plan->arena_bytes;
    for (int64_t i = 0; i < plan->input_count; i++) {
        const qn_load *load = &plan->inputs[i];
        good &= within(load->from, load->bytes, plan->input_bytes) &
                within(load->to, load->bytes, plan->arena_bytes);
    }
    for (int64_t i = 0; i < plan->state_count; i++) {
        const qn_load *load = &plan->states[i];
        good &= within(load->from, load->bytes, plan->state_bytes) &
                within(load->to, load->bytes, plan->arena_bytes);
    }
    good &= plan->jumps == 0 || plan->task_count == 0;
    int64_t last = 0;
    for (int64_t i = 0; i < plan->store_count; i++) {
        const qn_store *store = &plan->stores[i];
        good &= store->after >= last && store->after < plan->step_count;
        good &= within(store->from, store->bytes, plan->arena_bytes);
        last = store->after;
    }
    for (int64_t i = 0; i < plan->task_count; i++) {
        good &= task_check(plan, i);
    }
    if (!good) {
        snprintf(why, QN_WHY,
                 "an input, a state, an output or a part is outside the planned memory");
        return QN_REFUSED;
    }
    return QN_OK;
}

/* ---- stopping ---- */

enum { ASK_NS = 50000000 };

int qn_watch_asks(qn_watch *watch) {
    const int64_t moment = qn_nanoseconds();
    if (watch->since != 0 && moment - watch->since < ASK_NS) {
        return 0;
    }
    const int first = watch->since == 0;
    watch->since = moment;
    return !first && watch->ask();
}

static int look_alone(qn_watch *watch) {
    watch->left = watch->every;
    return watch->ask && qn_watch_asks(watch);
}

qn_watch qn_watch_of(const qn_plan *plan, qn_ask *ask) {
    return (qn_watch){
        .look = look_alone, .ask = ask, .every = plan->look_every, .left = plan->look_every};
}

/* ---- running ---- */

static void load_all(char *arena, const qn_load *loads, int64_t count, const char *source) {
    for (int64_t i = 0; i < count; i++) {
        memcpy(arena + loads[i].to, source + loads[i].from, (size_t)loads[i].bytes);
    }
}

int qn_run_step(const qn_step *step, char *arena) {
    qn_buffers buffers = {
        .in = {arena + step->in[0], arena + step->in[1], arena + step->in[2]},
        .weights = step->weights,
        .bias = step->bias,
        .out = arena + step->out,
        .scratch = arena + step->scratch,
        .packed = step->packed,
        .sign_flipped = step->sign_flipped,
    };
    if (step->spare_bytes > 0) {
        memcpy(arena + step->spare, buffers.in[0], (size_t)step->spare_bytes);
        buffers.in[0] = arena + step->spare;
    }
    const int status = step->kernel->functions->run(step->params, &buffers);
    qn_leave_vectors(step->kernel->cpu);
    return status;
}

int qn_run_steps(const qn_plan *plan, char *arena, int64_t turn, void *const *outputs,
                 int64_t first, int64_t last, qn_watch *watch) {
    int64_t s = 0;
    while (s < plan->store_count && plan->stores[s].after < first - 1) {
        s++;
    }
    for (int64_t i = first;; i++) {
        for (; s < plan->store_count && plan->stores[s].after < i; s++) {
            const qn_store *store = &plan->stores[s];
            char *output = (char *)outputs[s] + turn * store->bytes;
            memcpy(output, arena + store->from, (size_t)store->bytes);
        }
        if (i == last) {
            return QN_OK;
        }
        if (qn_watch_stops(watch)) {
            return QN_STOPPED;
        }
        if (!plan->steps[i].kernel) {
            i = qn_jump(plan, i, arena, &s) - 1;
            continue;
        }
        int status = qn_run_step(&plan->steps[i], arena);
        if (status != QN_OK) {
            watch->turn = turn;
            watch->step = i;
            return status;
        }
    }
}

void qn_tell_failed(const qn_watch *watch, int status, int64_t *failed) {
    if (failed && status != QN_OK && status != QN_STOPPED) {
        failed[0] = watch->turn;
        failed[1] = watch->step;
    }
}

void qn_load_sample(const qn_plan *plan, char *arena, int64_t n, const void *state) {
    memset(arena, 0, (size_t)plan->cleared);
    if (state) {
        const char *own = (const char *)state + n * plan->state_bytes;
        load_all(arena, plan->states, plan->state_count, own);
    }
}

void qn_load_input(const qn_plan *plan, char *arena, int64_t turn, const void *x) {
    const char *own = (const char *)x + turn * plan->input_bytes;
    load_all(arena, plan->inputs, plan->input_count, own);
}

int qn_run_samples(const qn_plan *plan, void *arena, int64_t first, int64_t last, int64_t times,
                   const void *x, const void *state, void *const *outputs, qn_watch *watch) {
    for (int64_t n = first; n < last; n++) {
        qn_load_sample(plan, arena, n, state);
        for (int64_t turn = n * times; turn < (n + 1) * times; turn++) {
            qn_load_input(plan, arena, turn, x);
            int status = qn_run_steps(plan, arena, turn, outputs, 0, plan->step_count, watch);
            if (status != QN_OK) {
                return status;
            }
        }
    }
    return QN_OK;
}

void qn_begin(const qn_call *call, const void *state) {
    qn_load_sample(call->plan, call->arenas[0], 0, state);
}

int qn_turn(const qn_call *call, const void *x) {
    qn_watch watch = qn_watch_of(call->plan, call->plan->jumps ? call->ask : NULL);
    const uint64_t modes = qn_enter_modes();
    qn_load_input(call->plan, call->arenas[0], 0, x);
    const int status = qn_run_steps(call->plan, call->arenas[0], 0, call->outputs, 0,
                                    call->plan->step_count, &watch);
    qn_tell_failed(&watch, status, call->failed);
    qn_release_tiles(call->plan->tiles);
    qn_leave_modes(modes);
    return status;
}

int qn_execute(const qn_plan *plan, void *arena, int64_t first, int64_t last, int64_t times,
               const void *x, const void *state, void *const *outputs, qn_ask *ask,
               int64_t *failed) {
    qn_watch watch = qn_watch_of(plan, ask);
    const int status = qn_run_samples(plan, arena, first, last, times, x, state, outputs, &watch);
    qn_tell_failed(&watch, status, failed);
    qn_release_tiles(plan->tiles);
    return status;
}
