/* Elements from and to places that are computed, plain. */
#include "gather.h"

enum { DEPTH = 5, AXES = 6 };

int s_gather_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_gather *p = params;
    const s_range all[] = {
        {"batches", p->batches, 1, INT32_MAX}, {"outer", p->outer, 1, INT32_MAX},
        {"side", p->side, 1, INT32_MAX},       {"inner", p->inner, 1, INT32_MAX},
        {"count", p->count, 1, INT32_MAX},     {"depth", p->depth, 1, DEPTH},
        {"step_0", p->step_0, 0, INT32_MAX},   {"step_1", p->step_1, 0, INT32_MAX},
        {"step_2", p->step_2, 0, INT32_MAX},   {"step_3", p->step_3, 0, INT32_MAX},
        {"step_4", p->step_4, 0, INT32_MAX},
    };
    const int32_t in[] = {p->batches, p->outer, p->side, p->inner};
    const int32_t out[] = {p->batches, p->outer, p->count, p->inner};
    const int32_t places[] = {p->batches, p->count, p->depth};
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    if (status == QN_OK) {
        status = s_moved(p->element, in, 4, out, 4, sizes, why);
    }
    if (status == QN_OK) {
        sizes->in[1] = s_moved_bytes(4, places, 3, "places", why);
        status = sizes->in[1] < 0 ? QN_REFUSED : QN_OK;
    }
    return status;
}

/* The place that `depth` numbers stand for; outside of 0..2^31 - 1 where one of them is far. */
static int64_t place(const qn_s_gather *p, const int32_t *numbers) {
    const int32_t steps[DEPTH] = {p->step_0, p->step_1, p->step_2, p->step_3, p->step_4};
    int64_t sum = 0;
    for (int j = 0; j < p->depth; j++) {
        sum += (int64_t)numbers[j] * steps[j]; /* below 2^62; so is what it was */
        if (sum < -(INT64_C(1) << 61) || sum > INT64_C(1) << 61) {
            return -1;
        }
    }
    return sum;
}

int s_gather_ref(const void *params, const qn_buffers *b) {
    const qn_s_gather *p = params;
    const size_t block = (size_t)p->inner * (size_t)p->element;
    const int8_t *in = b->in[0];
    const int32_t *places = b->in[1];
    int8_t *out = b->out;
    for (int32_t batch = 0; batch < p->batches; batch++) {
        const int32_t *own = places + (int64_t)batch * p->count * p->depth;
        for (int32_t o = 0; o < p->outer; o++, in += (size_t)p->side * block) {
            for (int32_t k = 0; k < p->count; k++, out += block) {
                const int64_t from = place(p, own + (int64_t)k * p->depth);
                if (from < 0 || from >= p->side) {
                    return QN_REFUSED;
                }
                memcpy(out, in + (size_t)from * block, block);
            }
        }
    }
    return QN_OK;
}

/* The axes of an update, outermost first. */
typedef struct s_updated {
    int32_t side[AXES], update[AXES];
} s_updated;

static s_updated updated(const qn_s_update *p) {
    return (s_updated){
        {p->side_0, p->side_1, p->side_2, p->side_3, p->side_4, p->side_5},
        {p->update_0, p->update_1, p->update_2, p->update_3, p->update_4, p->update_5},
    };
}

int s_update_check(const void *params, qn_sizes *sizes, char *why) {
    static const char *const sides[] = {"side_0", "side_1", "side_2", "side_3", "side_4", "side_5"};
    static const char *const updates[] = {"update_0", "update_1", "update_2",
                                          "update_3", "update_4", "update_5"};
    const qn_s_update *p = params;
    const s_updated u = updated(p);
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_sides(sides, u.side, AXES, why);
    }
    for (int i = 0; i < AXES && status == QN_OK; i++) {
        status = qn_in_range(updates[i], u.update[i], 1, u.side[i], why);
    }
    if (status == QN_OK) {
        status = qn_in_range("rank", p->rank, 1, AXES, why);
    }
    for (int i = 0; i < AXES - p->rank && status == QN_OK; i++) {
        status = qn_in_range(sides[i], u.side[i], 1, 1, why);
    }
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = sizes->out = s_moved_bytes(p->element, u.side, AXES, "input", why);
    sizes->in[1] = s_elements(p->element, u.update, AXES) * p->element;
    sizes->in[2] = (int64_t)p->rank * 4;
    return sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_part_check(const void *params, qn_sizes *sizes, char *why) {
    const int status = s_update_check(params, sizes, why);
    sizes->out = sizes->in[1];
    sizes->in[1] = sizes->in[2];
    sizes->in[2] = 0;
    return status;
}

static int64_t start(const qn_s_update *p, const s_updated *u, const int32_t *starts, int axis) {
    const int own = axis - AXES + p->rank;
    return own < 0 ? 0 : qn_clamp(starts[own], 0, u->side[axis] - u->update[axis]);
}

int s_update_ref(const void *params, const qn_buffers *b) {
    const qn_s_update *p = params;
    const s_updated u = updated(p);
    const int64_t count = s_elements(p->element, u.update, AXES);
    const int64_t line = u.update[AXES - 1];
    const int8_t *in = b->in[1];
    int8_t *out = b->out;
    memcpy(out, b->in[0], (size_t)(s_elements(p->element, u.side, AXES) * p->element));
    for (int64_t i = 0; i < count; i += line, in += line * p->element) {
        int64_t rest = i, index = 0, pitch = 1;
        for (int axis = AXES - 1; axis >= 0; axis--) {
            index += pitch * (start(p, &u, b->in[2], axis) + rest % u.update[axis]);
            rest /= u.update[axis];
            pitch *= u.side[axis];
        }
        memcpy(out + index * p->element, in, (size_t)(line * p->element));
    }
    return QN_OK;
}

int s_part_ref(const void *params, const qn_buffers *b) {
    const qn_s_update *p = params;
    const s_updated u = updated(p);
    const int64_t line = u.update[AXES - 1], count = s_elements(p->element, u.update, AXES);
    const int32_t *starts = b->in[1];
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    int64_t from[AXES] = {0};
    for (int axis = AXES - p->rank; axis < AXES; axis++) {
        from[axis] = starts[axis - AXES + p->rank];
        if (from[axis] < 0 || from[axis] > u.side[axis] - u.update[axis]) {
            return QN_REFUSED;
        }
    }
    for (int64_t i = 0; i < count; i += line, out += line * p->element) {
        int64_t rest = i, index = 0, pitch = 1;
        for (int axis = AXES - 1; axis >= 0; axis--) {
            index += pitch * (from[axis] + rest % u.update[axis]);
            rest /= u.update[axis];
            pitch *= u.side[axis];
        }
        memcpy(out, in + index * p->element, (size_t)(line * p->element));
    }
    return QN_OK;
}

int s_low_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_vector *p = params;
    sizes->in[0] = (int64_t)p->length * 8;
    sizes->out = (int64_t)p->length * 4;
    return qn_in_range("length", p->length, 0, 1 << 28, why);
}

int s_low_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    const int64_t *in = b->in[0];
    int32_t *out = b->out;
    for (int32_t i = 0; i < p->length; i++) {
        out[i] = qn_wrap32((uint32_t)(uint64_t)in[i]);
    }
    return QN_OK;
}
