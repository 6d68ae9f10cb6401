/* Common form of slices, transposes and broadcasts: an output whose axes each have their own step
 * in the input. Axes that a call has not are in front, with one element. */
#ifndef QN_S_WALK_H
#define QN_S_WALK_H

#include "movement.h"

enum { S_AXES = 6 };

/* Outermost first, all in elements: those of the output along an axis, and those of the input from
 * one to the next. start: where the first lies. */
typedef struct s_walk {
    int64_t start, sides[S_AXES], steps[S_AXES];
} s_walk;

static inline s_walk s_walk_of_slice(const qn_s_slice *p) {
    const int32_t inputs[] = {p->input_0, p->input_1, p->input_2, p->input_3, p->input_4};
    const int32_t begins[] = {p->begin_0, p->begin_1, p->begin_2, p->begin_3, p->begin_4};
    const int32_t strides[] = {p->stride_0, p->stride_1, p->stride_2, p->stride_3, p->stride_4};
    const int32_t outputs[] = {p->output_0, p->output_1, p->output_2, p->output_3, p->output_4};
    s_walk w = {.sides = {1}};
    int64_t pitch = 1;
    for (int i = 4; i >= 0; i--) {
        w.start += begins[i] * pitch;
        w.sides[i + 1] = outputs[i];
        w.steps[i + 1] = outputs[i] > 1 ? strides[i] * pitch : 0;
        pitch *= inputs[i];
    }
    return w;
}

static inline s_walk s_walk_of_permute(const qn_s_permute *p) {
    const int32_t inputs[] = {p->input_0, p->input_1, p->input_2,
                              p->input_3, p->input_4, p->input_5};
    const int32_t perm[] = {p->perm_0, p->perm_1, p->perm_2, p->perm_3, p->perm_4, p->perm_5};
    int64_t pitches[S_AXES], pitch = 1;
    s_walk w = {0};
    for (int i = S_AXES - 1; i >= 0; i--) {
        pitches[i] = pitch;
        pitch *= inputs[i];
    }
    for (int i = 0; i < S_AXES; i++) {
        w.sides[i] = inputs[perm[i]];
        w.steps[i] = pitches[perm[i]];
    }
    return w;
}

/* Arm's function has the missing axes after; nothing looks at their perm_k. */
static inline s_walk s_walk_of_transpose(const qn_s_transpose *p) {
    const int32_t axes[] = {p->perm_0, p->perm_1, p->perm_2, p->perm_3};
    int32_t perm[4];
    for (int i = 0; i < 4; i++) {
        perm[i] = 2 + (i < p->num_dims ? axes[i] : i);
    }
    const qn_s_permute whole = {
        .input_0 = 1,
        .input_1 = 1,
        .input_2 = p->input_n,
        .input_3 = p->input_h,
        .input_4 = p->input_w,
        .input_5 = p->input_c,
        .perm_0 = 0,
        .perm_1 = 1,
        .perm_2 = perm[0],
        .perm_3 = perm[1],
        .perm_4 = perm[2],
        .perm_5 = perm[3],
    };
    return s_walk_of_permute(&whole);
}

static inline s_walk s_walk_of_broadcast(const qn_s_broadcast *p) {
    const int32_t inputs[] = {p->input_n, p->input_h, p->input_w, p->input_c};
    const int32_t outputs[] = {p->output_n, p->output_h, p->output_w, p->output_c};
    s_walk w = {.sides = {1, 1}};
    int64_t pitch = 1;
    for (int i = 3; i >= 0; i--) {
        w.sides[i + 2] = outputs[i];
        w.steps[i + 2] = inputs[i] > 1 ? pitch : 0;
        pitch *= inputs[i];
    }
    return w;
}

#endif
