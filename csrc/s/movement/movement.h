/* Functions that move elements and compute nothing: reshaping, concatenation, padding, transposition
 * (arm_reshape_s8, arm_concatenation_s8_x, _y, _z, _w, arm_pad_s8, arm_transpose_s8), and of
 * TensorFlow Lite Micro joining two tensors and the same padding and transposition of 16 bits.
 *
 *   copy           out[i] = in[i], total_size elements
 *   concatenation  out = its old content, but for `offset` and the following indices of one axis,
 *                  which are in[0]; in[1] is the old content. Axes [w][z][y][x], so that x is the
 *                  innermost; the axis has output_side elements in out
 *   join           out[outer][0 .. inner1 - 1] = in[0], [inner1 .. inner1 + inner2 - 1] = in[1]
 *   pad            out[n][h][w][c] = in[n - pre_n][h - pre_h][w - pre_w][c - pre_c], or pad_value
 *                  where that lies outside in
 *   transpose      out[i(perm_0)][i(perm_1)][i(perm_2)][i(perm_3)] = in[i(0)][i(1)][i(2)][i(3)]: axis k
 *                  of out is axis perm_k of in. The sides of axes from num_dims on are 1, and
 *                  nothing looks at their perm_k
 *
 * Ranges: sides 1..65535, paddings 0..65535, all 1..2^31 - 1 of join; at most 2^31 - 1 bytes in an
 * array. total_size from 0 on.
 * In place: copy, and concatenation with out at its in[1]. Scratch: none.
 * All cores and both roundings give the same bits.
 * Refused of arm_transpose_s8, which then does something else than the formula: two axes in their old
 * order, which it exchanges all the same; on Helium four axes in their old order, of which it
 * exchanges the last two, and exchanging the last two where the last has more than 9362 elements. */
#ifndef QN_S_MOVEMENT_H
#define QN_S_MOVEMENT_H

#include <string.h>

#include "../affine.h"

/* The bytes of an array with sides of 1..65535, or a sentence and -1. */
static inline int64_t s_moved_bytes(int64_t element, const int32_t *sides, int count,
                                    const char *what, char *why) {
    int64_t elements = s_elements(element, sides, count);
    if (elements < 0) {
        s_too_large(what, why);
    }
    return elements < 0 ? -1 : elements * element;
}

/* Sides, one after the other, in their range. */
static inline int s_sides(const char *const *names, const int32_t *sides, int count, char *why) {
    int status = QN_OK;
    for (int i = 0; i < count && status == QN_OK; i++) {
        status = qn_in_range(names[i], sides[i], 1, UINT16_MAX, why);
    }
    return status;
}

#endif
