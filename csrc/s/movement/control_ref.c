/* Variables and branches, plain. */
#include "control.h"

#include <string.h>

static int64_t bytes_of(const qn_s_elements *p) { return (int64_t)p->length * p->width; }

static int is_legal(const qn_s_elements *p, char *why) {
    if (p->width != 1 && p->width != 2 && p->width != 4 && p->width != 8) {
        return qn_deny(why, QN_REFUSED, "width must be 1, 2, 4 or 8, is %ld", (long)p->width);
    }
    return qn_in_range("length", p->length, 1, INT32_MAX / p->width, why);
}

int s_read_variable_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->in[0] = sizes->out = bytes_of(params);
    return is_legal(params, why);
}

int s_assign_variable_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->in[0] = sizes->in[1] = sizes->out = bytes_of(params);
    return is_legal(params, why);
}

int s_choose_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->in[0] = 1;
    sizes->in[1] = sizes->in[2] = sizes->out = bytes_of(params);
    return is_legal(params, why);
}

int s_read_variable_ref(const void *params, const qn_buffers *b) {
    memcpy(b->out, b->in[0], (size_t)bytes_of(params));
    return QN_OK;
}

int s_assign_variable_ref(const void *params, const qn_buffers *b) {
    memcpy(b->in[0], b->in[1], (size_t)bytes_of(params));
    memcpy(b->out, b->in[1], (size_t)bytes_of(params));
    return QN_OK;
}

int s_choose_ref(const void *params, const qn_buffers *b) {
    const uint8_t *condition = b->in[0];
    memcpy(b->out, *condition != 0 ? b->in[1] : b->in[2], (size_t)bytes_of(params));
    return QN_OK;
}
