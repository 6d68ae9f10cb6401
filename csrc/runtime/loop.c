/* Jumps between steps: the loops of a plan. */
#include <stdio.h>

#include "executor.h"

int qn_jump_check(const qn_plan *plan, const qn_step *jump, char *why) {
    const int64_t condition = jump->in[0];
    if (condition < -1 || condition >= plan->arena_bytes || jump->out < 0 ||
        jump->out > plan->step_count || !plan->jumps) {
        snprintf(why, QN_WHY,
                 "a loop reads outside the planned memory, or jumps outside the network");
        return QN_REFUSED;
    }
    return QN_OK;
}

int64_t qn_jump(const qn_plan *plan, int64_t i, const char *arena, int64_t *store) {
    const qn_step *jump = &plan->steps[i];
    if (jump->in[0] >= 0 && arena[jump->in[0]] != 0) {
        return i + 1;
    }
    int64_t s = *store;
    while (s > 0 && plan->stores[s - 1].after >= jump->out) {
        s--;
    }
    while (s < plan->store_count && plan->stores[s].after < jump->out) {
        s++;
    }
    *store = s;
    return jump->out;
}
