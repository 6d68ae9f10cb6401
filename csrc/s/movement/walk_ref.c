/* Slices, transposes and broadcasts, plain. */
#include "walk.h"

static const char *const four_in[] = {"input_n", "input_h", "input_w", "input_c"};
static const char *const four_out[] = {"output_n", "output_h", "output_w", "output_c"};
static const char *const six_in[] = {"input_0", "input_1", "input_2",
                                     "input_3", "input_4", "input_5"};
static const char *const six_out[] = {"output_0", "output_1", "output_2",
                                      "output_3", "output_4", "output_5"};

/* The elements of axes from `axis` on, one by one. */
static char *walk(const s_walk *w, int axis, const char *from, size_t element, char *to) {
    if (axis == S_AXES) {
        memcpy(to, from, element);
        return to + element;
    }
    for (int64_t i = 0; i < w->sides[axis]; i++) {
        to = walk(w, axis + 1, from + i * w->steps[axis] * (int64_t)element, element, to);
    }
    return to;
}

static int walked(s_walk w, const qn_buffers *b, int32_t element) {
    (void)walk(&w, 0, (const char *)b->in[0] + w.start * element, (size_t)element, b->out);
    return QN_OK;
}

/* ---- slices ---- */

/* The axes of a slice, outermost first. */
typedef struct s_axes {
    int32_t input[5], begin[5], stride[5], output[5];
} s_axes;

static s_axes axes_of(const qn_s_slice *p) {
    return (s_axes){{p->input_0, p->input_1, p->input_2, p->input_3, p->input_4},
                    {p->begin_0, p->begin_1, p->begin_2, p->begin_3, p->begin_4},
                    {p->stride_0, p->stride_1, p->stride_2, p->stride_3, p->stride_4},
                    {p->output_0, p->output_1, p->output_2, p->output_3, p->output_4}};
}

static int stays_inside(const s_axes *a, int i, char *why) {
    static const char *const begins[] = {"begin_0", "begin_1", "begin_2", "begin_3", "begin_4"};
    static const char *const strides[] = {"stride_0", "stride_1", "stride_2", "stride_3",
                                          "stride_4"};
    int status = qn_in_range(begins[i], a->begin[i], 0, a->input[i] - 1, why);
    if (status == QN_OK) {
        status = qn_in_range(strides[i], a->stride[i], -INT32_MAX, INT32_MAX, why);
    }
    int64_t last = a->begin[i] + (int64_t)(a->output[i] - 1) * a->stride[i];
    if (status == QN_OK && (last < 0 || last >= a->input[i])) {
        return qn_deny(why, QN_REFUSED,
                       "axis %d of the slice ends at element %lld, but the input has %ld", i,
                       (long long)last, (long)a->input[i]);
    }
    return status;
}

int s_slice_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_slice *p = params;
    const s_axes a = axes_of(p);
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_sides(six_in, a.input, 5, why);
    }
    if (status == QN_OK) {
        status = s_sides(six_out, a.output, 5, why);
    }
    for (int i = 0; i < 5 && status == QN_OK; i++) {
        status = stays_inside(&a, i, why);
    }
    return status == QN_OK ? s_moved(p->element, a.input, 5, a.output, 5, sizes, why) : status;
}

int s_slice_ref(const void *params, const qn_buffers *b) {
    const qn_s_slice *p = params;
    return walked(s_walk_of_slice(p), b, p->element);
}

/* ---- transposes ---- */

/* The axes of a transpose; count: of those that there are, the first of which perm_k speaks. */
typedef struct s_turned {
    int32_t count, in[S_AXES], out[S_AXES], perm[S_AXES];
} s_turned;

static int is_permutation(const s_turned *s, const char *const *names, const char *whole,
                          char *why) {
    int seen = 0;
    for (int i = 0; i < s->count; i++) {
        const int32_t axis = s->perm[i];
        if (axis < 0 || axis >= s->count || seen & 1 << axis) {
            return qn_deny(why, QN_REFUSED, "perm must hold %s once each, perm_%d is %ld", whole, i,
                           (long)axis);
        }
        seen |= 1 << axis;
        if (s->out[i] != s->in[axis]) {
            return qn_deny(why, QN_REFUSED, "%s must be %ld as perm has it, is %ld", names[i],
                           (long)s->in[axis], (long)s->out[i]);
        }
    }
    return QN_OK;
}

int s_permute_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_permute *p = params;
    const s_turned s = {
        S_AXES,
        {p->input_0, p->input_1, p->input_2, p->input_3, p->input_4, p->input_5},
        {p->output_0, p->output_1, p->output_2, p->output_3, p->output_4, p->output_5},
        {p->perm_0, p->perm_1, p->perm_2, p->perm_3, p->perm_4, p->perm_5},
    };
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_sides(six_in, s.in, S_AXES, why);
    }
    if (status == QN_OK) {
        status = is_permutation(&s, six_out, "0..5", why);
    }
    return status == QN_OK ? s_moved(p->element, s.in, S_AXES, s.out, S_AXES, sizes, why) : status;
}

int s_permute_ref(const void *params, const qn_buffers *b) {
    const qn_s_permute *p = params;
    return walked(s_walk_of_permute(p), b, p->element);
}

/* Cases in which arm_transpose_s8 differs from the formula. */
static int of_arm(const qn_s_transpose *p, const s_turned *s, char *why) {
    int helium = qn_path(p->profile) == QN_PATH_MVE;
    int keeps = s->perm[0] == 0 && s->perm[1] == 1;
    if (p->num_dims == 2 && keeps) {
        return qn_deny(why, QN_REFUSED,
                       "perm is 0 1, but the device exchanges two axes in any case: copy instead");
    }
    if (helium && p->num_dims == 4 && keeps && s->perm[2] == 2) {
        return qn_deny(why, QN_REFUSED,
                       "perm is 0 1 2 3, but this core exchanges the last two axes: copy instead");
    }
    int32_t columns = p->num_dims == 2 ? s->in[1] : s->in[3];
    if (helium && columns > UINT16_MAX / 7 && (p->num_dims == 2 || (p->num_dims == 4 && keeps))) {
        return qn_deny(why, QN_REFUSED,
                       "the last of two axes to exchange must have at most 9362 elements on this "
                       "core, has %ld",
                       (long)columns);
    }
    return QN_OK;
}

int s_transpose_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_transpose *p = params;
    const s_turned s = {
        p->num_dims,
        {p->input_n, p->input_h, p->input_w, p->input_c},
        {p->output_n, p->output_h, p->output_w, p->output_c},
        {p->perm_0, p->perm_1, p->perm_2, p->perm_3},
    };
    int status = s_image(four_in, s.in, why);
    if (status == QN_OK) {
        status = qn_in_range("num_dims", p->num_dims, 1, 4, why);
    }
    if (status == QN_OK) {
        status = is_permutation(&s, four_out, "0..num_dims - 1", why);
    }
    for (int i = s.count; i < 4 && status == QN_OK; i++) {
        status = qn_in_range(four_in[i], s.in[i], 1, 1, why);
        status = status == QN_OK ? qn_in_range(four_out[i], s.out[i], 1, 1, why) : status;
    }
    if (status == QN_OK) {
        status = s_moved(1, s.in, 4, s.out, 4, sizes, why);
    }
    return status == QN_OK ? of_arm(p, &s, why) : status;
}

int s_transpose_s8_ref(const void *params, const qn_buffers *b) {
    return walked(s_walk_of_transpose(params), b, 1);
}

/* ---- broadcasts ---- */

int s_broadcast_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_broadcast *p = params;
    const int32_t in[] = {p->input_n, p->input_h, p->input_w, p->input_c};
    const int32_t out[] = {p->output_n, p->output_h, p->output_w, p->output_c};
    int status = s_element(p->element, why);
    if (status == QN_OK) {
        status = s_sides(four_out, out, 4, why);
    }
    for (int i = 0; i < 4 && status == QN_OK; i++) {
        if (in[i] != 1 && in[i] != out[i]) {
            return qn_deny(why, QN_REFUSED, "%s must be 1 or %ld, as the output's, is %ld",
                           four_in[i], (long)out[i], (long)in[i]);
        }
    }
    return status == QN_OK ? s_moved(p->element, in, 4, out, 4, sizes, why) : status;
}

int s_broadcast_ref(const void *params, const qn_buffers *b) {
    const qn_s_broadcast *p = params;
    return walked(s_walk_of_broadcast(p), b, p->element);
}
