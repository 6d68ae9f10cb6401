/* Padding and transposition, plain. */
#include "movement.h"

static const char *const input_names[] = {"input_n", "input_h", "input_w", "input_c"};
static const char *const output_names[] = {"output_n", "output_h", "output_w", "output_c"};

/* The sides of a padded image, and where the image begins. */
typedef struct s_padded {
    int32_t in[4], pre[4], out[4];
} s_padded;

static int paddings(const qn_s_pad *p, s_padded *s, char *why) {
    const int32_t in[] = {p->input_n, p->input_h, p->input_w, p->input_c};
    const s_range all[] = {
        {"pre_n", p->pre_n, 0, UINT16_MAX},   {"pre_h", p->pre_h, 0, UINT16_MAX},
        {"pre_w", p->pre_w, 0, UINT16_MAX},   {"pre_c", p->pre_c, 0, UINT16_MAX},
        {"post_n", p->post_n, 0, UINT16_MAX}, {"post_h", p->post_h, 0, UINT16_MAX},
        {"post_w", p->post_w, 0, UINT16_MAX}, {"post_c", p->post_c, 0, UINT16_MAX},
    };
    int status = s_sides(input_names, in, 4, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    for (int i = 0; i < 4 && status == QN_OK; i++) {
        s->in[i] = in[i];
        s->pre[i] = all[i].value;
        s->out[i] = in[i] + all[i].value + all[i + 4].value;
        status = qn_in_range(output_names[i], s->out[i], 1, UINT16_MAX, why);
    }
    return status;
}

static int pad_check(const qn_s_pad *p, int64_t element, qn_sizes *sizes, char *why) {
    s_padded s;
    int status = paddings(p, &s, why);
    if (status == QN_OK) {
        status = qn_in_range("pad_value", p->pad_value, element == 1 ? INT8_MIN : INT16_MIN,
                             element == 1 ? INT8_MAX : INT16_MAX, why);
    }
    if (status != QN_OK) {
        return status;
    }
    sizes->out = s_moved_bytes(element, s.out, 4, "output", why);
    sizes->in[0] = s_moved_bytes(element, s.in, 4, "input", why);
    return sizes->out < 0 ? QN_REFUSED : QN_OK;
}

int s_pad_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return pad_check(params, 1, sizes, why);
}

int s_pad_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return pad_check(params, 2, sizes, why);
}

/* Copies the image into the output, which is filled already, line by line. */
static void place(const s_padded *s, const qn_buffers *b, int64_t element) {
    const size_t line = (size_t)(s->in[3] * element);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < s->in[0]; n++) {
        for (int32_t h = 0; h < s->in[1]; h++) {
            for (int32_t w = 0; w < s->in[2]; w++, in += line) {
                int64_t row = (int64_t)(n + s->pre[0]) * s->out[1] + h + s->pre[1];
                int64_t pixel = row * s->out[2] + w + s->pre[2];
                memcpy(out + (pixel * s->out[3] + s->pre[3]) * element, in, line);
            }
        }
    }
}

int s_pad_s8_ref(const void *params, const qn_buffers *b) {
    const qn_s_pad *p = params;
    s_padded s;
    char why[QN_WHY];
    paddings(p, &s, why);
    memset(b->out, p->pad_value, (size_t)s_elements(1, s.out, 4));
    place(&s, b, 1);
    return QN_OK;
}

int s_pad_s16_ref(const void *params, const qn_buffers *b) {
    const qn_s_pad *p = params;
    s_padded s;
    char why[QN_WHY];
    int16_t *out = b->out;
    paddings(p, &s, why);
    for (int64_t i = 0; i < s_elements(2, s.out, 4); i++) {
        out[i] = (int16_t)p->pad_value;
    }
    place(&s, b, 2);
    return QN_OK;
}

/* The sides of in and out, and which axis of in each axis of out is. */
typedef struct s_turned {
    int32_t in[4], out[4], perm[4];
} s_turned;

static s_turned turned(const qn_s_transpose *p) {
    s_turned s = {{p->input_n, p->input_h, p->input_w, p->input_c},
                  {p->output_n, p->output_h, p->output_w, p->output_c},
                  {p->perm_0, p->perm_1, p->perm_2, p->perm_3}};
    for (int i = p->num_dims < 0 ? 0 : p->num_dims; i < 4; i++) {
        s.perm[i] = i; /* which the device does not look at */
    }
    return s;
}

static int is_permutation(const qn_s_transpose *p, const s_turned *s, char *why) {
    int seen = 0, status = qn_in_range("num_dims", p->num_dims, 1, 4, why);
    for (int i = 0; i < 4 && status == QN_OK; i++) {
        int32_t axis = s->perm[i];
        int own = axis >= 0 && axis < (i < p->num_dims ? p->num_dims : 4);
        if (!own || seen & 1 << axis) {
            return qn_deny(why, QN_REFUSED,
                           "perm must hold 0..num_dims - 1 once each, is %ld %ld %ld %ld",
                           (long)s->perm[0], (long)s->perm[1], (long)s->perm[2], (long)s->perm[3]);
        }
        seen |= 1 << axis;
        if (s->out[i] != s->in[axis] || (i >= p->num_dims && s->in[i] != 1)) {
            return qn_deny(why, QN_REFUSED, "%s must be %ld as perm has it, is %ld",
                           output_names[i], i < p->num_dims ? (long)s->in[axis] : 1L,
                           (long)s->out[i]);
        }
    }
    return status;
}

/* What arm_transpose_s8 does not do as the formula has it. */
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

static int transpose_check(const qn_s_transpose *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_turned s = turned(p);
    int status = s_sides(input_names, s.in, 4, why);
    if (status == QN_OK) {
        status = is_permutation(p, &s, why);
    }
    if (status == QN_OK) {
        sizes->in[0] = sizes->out = s_moved_bytes(element, s.in, 4, "input", why);
        status = sizes->out < 0 ? QN_REFUSED : QN_OK;
    }
    return status;
}

int s_transpose_s8_check(const void *params, qn_sizes *sizes, char *why) {
    const s_turned s = turned(params);
    int status = transpose_check(params, 1, sizes, why);
    return status == QN_OK ? of_arm(params, &s, why) : status;
}

int s_transpose_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return transpose_check(params, 2, sizes, why);
}

/* Where the element of in at `position` goes in out, in elements. */
static int64_t target(const s_turned *s, const int32_t *position) {
    int64_t index = 0;
    for (int i = 0; i < 4; i++) {
        index = index * s->out[i] + position[s->perm[i]];
    }
    return index;
}

static int transpose(const qn_s_transpose *p, const qn_buffers *b, size_t element) {
    const s_turned s = turned(p);
    const int8_t *in = b->in[0];
    int8_t *out = b->out;
    for (int32_t n = 0; n < s.in[0]; n++) {
        for (int32_t h = 0; h < s.in[1]; h++) {
            for (int32_t w = 0; w < s.in[2]; w++) {
                for (int32_t c = 0; c < s.in[3]; c++, in += element) {
                    const int32_t position[] = {n, h, w, c};
                    memcpy(out + (size_t)target(&s, position) * element, in, element);
                }
            }
        }
    }
    return QN_OK;
}

int s_transpose_s8_ref(const void *params, const qn_buffers *b) { return transpose(params, b, 1); }

int s_transpose_s16_ref(const void *params, const qn_buffers *b) { return transpose(params, b, 2); }
