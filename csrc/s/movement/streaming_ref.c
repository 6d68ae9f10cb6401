/* State between Invokes: the plain rows. */
#include "streaming.h"

/* Counts a call: is it one that counts? */
static int is_due(int32_t *calls, int32_t period) {
    const int due = *calls < 0 || *calls >= period - 1;
    *calls = due ? 0 : *calls + 1;
    return due;
}

int s_circular_buffer_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_circular_buffer *p = params;
    const s_range all[] = {
        {"slots", p->slots, 1, INT32_MAX},
        {"depth", p->depth, 1, INT32_MAX},
        {"period", p->period, 1, INT32_MAX},
    };
    const int32_t sides[] = {p->slots, p->depth};
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    sizes->in[0] = p->depth;
    sizes->in[1] = sizes->out = s_moved_bytes(1, sides, 2, "output", why);
    sizes->in[2] = sizeof(int32_t);
    return sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_circular_buffer_ref(const void *params, const qn_buffers *b) {
    const qn_s_circular_buffer *p = params;
    const size_t depth = (size_t)p->depth, older = depth * (size_t)(p->slots - 1);
    int8_t *slots = b->in[1];
    if (is_due(b->in[2], p->period)) {
        memmove(slots, slots + depth, older);
        memcpy(slots + older, b->in[0], depth);
    }
    memcpy(b->out, slots, older + depth);
    return QN_OK;
}

int s_hold_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_hold *p = params;
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = qn_in_range("length", p->length, 1, INT32_MAX / p->element, why);
    }
    if (status == QN_OK) {
        status = qn_in_range("period", p->period, 1, INT32_MAX, why);
    }
    if (status == QN_OK) {
        sizes->in[0] = sizes->in[1] = sizes->out = (int64_t)p->length * p->element;
        sizes->in[2] = sizeof(int32_t);
    }
    return status;
}

int s_hold_ref(const void *params, const qn_buffers *b) {
    const qn_s_hold *p = params;
    const size_t bytes = (size_t)p->length * (size_t)p->element;
    if (is_due(b->in[2], p->period)) {
        memcpy(b->in[1], b->in[0], bytes);
    }
    memcpy(b->out, b->in[1], bytes);
    return QN_OK;
}
